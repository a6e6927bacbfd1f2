"""Batches of sentences of similar length, for code that reads text without training on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Words of one batch, padding included.
BATCH_WORDS = 4000


def similar_lengths(lengths: Sequence[int], most: int = BATCH_WORDS) -> Iterator[list[int]]:
    """Yield batches of indices, longest items first, so that memory runs out at once or never.

    Args:
        lengths: number of words of every item, at least 1.
        most: maximum number of words of a batch, padding included; a single item may have more.
    """
    import numpy as np  # commands ask for BATCH_WORDS before they load anything heavy

    order = np.argsort(lengths, kind="stable").tolist()
    while order:
        size = max(1, most // lengths[order[-1]])
        yield order[-size:]
        del order[-size:]
