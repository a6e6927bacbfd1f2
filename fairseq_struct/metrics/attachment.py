"""Attachment scores of dependency trees, directed and undirected."""

from collections.abc import Sequence
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


def _pairs(heads: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(m, head), max(m, head)) for m, head in enumerate(heads, 1) if head not in (0, m)}
