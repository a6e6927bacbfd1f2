"""Labelled bracketing scores of constituency trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fairseq_struct.metrics.bracketing import f1_of_counts, within
from fairseq_struct.structure.spans import Span

JOINED = "+"
LABELLED_POLICY = (
    "all words of the files count, punctuation too unless they come without it; labels joined by + "
    "taken apart; constituents as often as they occur; spans of one word left out, that of the "
    "whole sentence counted"
)


@dataclass
class LabelledScores:
    """Collects labelled constituents of predicted and gold trees.

    Two constituents match if their labels and spans are equal. Constituents of two words or more
    count, as often as they occur: a noun phrase that is the only child of another counts twice. A
    joined label such as ``S+VP`` counts as one constituent for each of its parts. Unlike in
    unlabelled scores, the span of the whole sentence counts, because its label can be wrong. Unlike
    PARSEVAL (EVALB), phrases of one word do not count, so that F1 is not the published one.
    """

    matched: int = 0
    predicted: int = 0
    gold: int = 0

    def add(
        self, predicted: Iterable[tuple[str, Span]], gold: Iterable[tuple[str, Span]], length: int
    ) -> None:
        """Add a sentence.

        Args:
            predicted, gold: labels and spans (start, end) of the constituents.
            length: number of words of the sentence.

        Raises:
            ValueError: a span that does not lie within the sentence.
        """
        ours, theirs = _counted(predicted, length), _counted(gold, length)
        self.matched += (ours & theirs).total()
        self.predicted += ours.total()
        self.gold += theirs.total()

    @property
    def f1_labelled(self) -> float:
        """F1 over the whole corpus, 0 to 100."""
        return f1_of_counts(self.matched, self.predicted, self.gold)


def _counted(constituents: Iterable[tuple[str, Span]], length: int) -> Counter:
    found: Counter = Counter()
    for label, span in constituents:
        start, end = within(span, length)
        if end - start > 1:
            found.update((part, start, end) for part in label.split(JOINED))
    return found
