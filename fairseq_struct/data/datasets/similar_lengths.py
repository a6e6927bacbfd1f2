"""Batches of sentences of similar lengths, for whatever reads text without training on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Words that go through a model side by side, padding counted.
BATCH_WORDS = 4000


def similar_lengths(lengths: Sequence[int], most: int = BATCH_WORDS) -> Iterator[list[int]]:
    """Batches of places, the longest items first, so that memory runs out at once or never.

    Args:
        lengths: words of every item, at least 1.
        most: words of a batch with its padding; one item alone may have more.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        size = max(1, most // lengths[order[-1]])
        yield order[-size:]
        del order[-size:]
