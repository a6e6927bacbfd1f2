"""Attachment scores of dependency trees, directed and undirected."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass
class AttachmentScores:
    """Collects how many words have the right head (tables 7 and 9 of Shen's thesis, chapter 4).

    ``uas`` is the share of words, the root's modifiers included, whose head is right; ``uuas`` the
    share of pairs of words joined by a gold arc that are joined by a predicted one in either
    direction. Arcs of the root join no pair.
    """

    words: int = 0
    right: int = 0
    pairs: int = 0
    joined: int = 0

    def add(self, predicted: Sequence[int], gold: Sequence[int]):
        """Add a sentence.

        Args:
            predicted, gold: heads, 1-based and 0 for the root. Predicted ones need not be a tree.

        Raises:
            ValueError: the sentences have other lengths, or a head is none of their words.
        """
        n = len(gold)
        if len(predicted) != n:
            raise ValueError(f"{len(predicted)} predicted heads for {n} gold ones")
        for heads in (predicted, gold):
            for head in heads:
                if not 0 <= head <= n:
                    raise ValueError(f"{head} is no head in a sentence of {n} words")
        self.words += n
        self.right += sum(a == b for a, b in zip(predicted, gold, strict=True))
        theirs = _pairs(gold)
        self.pairs += len(theirs)
        self.joined += len(theirs & _pairs(predicted))

    @property
    def uas(self) -> float:
        """Unlabelled attachment score, 0 to 100."""
        return 100 * self.right / self.words if self.words else 0.0

    @property
    def uuas(self) -> float:
        """Undirected unlabelled attachment score, 0 to 100."""
        return 100 * self.joined / self.pairs if self.pairs else 0.0


def scores_of_readings(
    gold: Iterable[Sequence[int]], readings: Iterable[Mapping[str, Sequence[int]]]
) -> dict[str, float]:
    """``uas`` and ``uuas`` of all readings of all sentences, a reading's name behind them.

    Args:
        gold: heads of every sentence.
        readings: of every sentence, heads by name, as of :func:`.head_selection.readings`; beyond
            the sentence's end they do not count.
    """
    found: dict[str, AttachmentScores] = defaultdict(AttachmentScores)
    for heads, own in zip(gold, readings, strict=True):
        for name, predicted in own.items():
            found[name].add(predicted[: len(heads)], heads)
    return {
        f"{kind}{name}": getattr(scores, kind)
        for name, scores in found.items()
        for kind in ("uas", "uuas")
    }


def _pairs(heads: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(m, head), max(m, head)) for m, head in enumerate(heads, 1) if head not in (0, m)}
