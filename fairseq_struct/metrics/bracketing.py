"""Unlabelled bracketing scores of constituency trees, per sentence and per corpus."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import index

from torch import Tensor

from fairseq_struct.structure.spans import Span, without_words

POLICY = (
    "all words of the files count, punctuation too unless they come without it; unlabelled, each "
    "span counted once; spans of one word and of the whole sentence left out; a sentence without "
    "other gold spans counts as recall 100, and as precision 100 if nothing else is predicted"
)
# Constituents whose recall is told, those of table 2 of the ON-LSTM paper.
LABELS = ("ADJP", "NP", "PP", "INTJ")


def bracket_counts(predicted: Sequence[Iterable[Span]], gold: Tensor) -> tuple[int, int, int]:
    """Matched, predicted and gold brackets of formulas, to be summed for :func:`f1_of_counts`.

    The published F1 of Ordered Memory counts every bracket of two words or more, that of the whole
    sentence included, each once per sentence, after words that are no leaves of the gold tree (the
    round brackets of a formula) have been taken out of both trees.

    Args:
        predicted: the spans of each sentence.
        gold: (sentences, m, 3) start, end and label of the constituents, with a row for every
            leaf; padded with rows of -1.
    """
    matched = found = wanted = 0
    sizes = (gold[..., 0] >= 0).sum(1).tolist()  # without padding, most of the batch's rows
    for ours, tree, size in zip(predicted, gold.cpu(), sizes, strict=True):
        rows = tree[:size, :2].tolist()
        leaves = sorted(start for start, end in rows if end - start == 1)
        mine = set(without_words(ours, leaves))
        theirs = set(without_words(rows, leaves))
        matched += len(mine & theirs)
        found += len(mine)
        wanted += len(theirs)
    return matched, found, wanted


def f1_of_counts(matched: int, predicted: int, gold: int) -> float:
    """F1 of numbers of brackets, 0 to 100; 100 where there are none."""
    total = predicted + gold
    return 200 * matched / total if total else 100.0


def within(span: Span, length: int) -> Span:
    """The span, as integers, which may be elements of tensors: those are equal by identity only.

    Raises:
        ValueError: the span does not lie within ``length`` words.
    """
    start, end = map(index, span)
    if not 0 <= start < end <= length:
        raise ValueError(f"span ({start}, {end}) is not within {length} words")
    return start, end


@dataclass
class BracketingScores:
    """Collects spans of predicted and gold trees (table 2 of the ON-LSTM paper).

    Precision and recall compare sets of spans of two words or more, without the span of the whole
    sentence. ``f1_sentence`` is the mean of the sentences' F1; papers on unsupervised parsing
    report it. ``f1_corpus`` is the F1 of the counts summed over the corpus.
    """

    f1: list[float] = field(default_factory=list)
    matched: int = 0
    predicted: int = 0
    gold: int = 0
    found: Counter = field(default_factory=Counter)
    labels: Counter = field(default_factory=Counter)

    def add(
        self, predicted: Iterable[Span], gold: Iterable[Span], length: int,
        labelled: Sequence[tuple[str, Span]] = (),
    ) -> float:  # fmt: skip
        """Add a sentence, and return its F1 from 0 to 100.

        Args:
            predicted, gold: spans (start, end) of the constituents, also as rows of a tensor.
            length: number of words in the sentence.
            labelled: gold constituents with their labels, for the recall of each label.

        Raises:
            ValueError: a span that does not lie within the sentence.
        """
        ours, theirs = (self._counted(spans, length) for spans in (predicted, gold))
        matched = len(ours & theirs)
        self.matched += matched
        self.predicted += len(ours)
        self.gold += len(theirs)
        recall = matched / len(theirs) if theirs else 1.0
        precision = matched / len(ours) if ours else float(not theirs)
        total = precision + recall
        self.f1.append(200 * precision * recall / total if total else 0.0)
        for label, span in labelled:
            if own := self._counted([span], length):
                self.labels[label] += 1
                self.found[label] += own <= ours
        return self.f1[-1]

    @staticmethod
    def _counted(spans: Iterable[Span], length: int) -> set[Span]:
        result = set()
        for span in spans:
            start, end = within(span, length)
            if 1 < end - start < length:
                result.add((start, end))
        return result

    @property
    def f1_sentence(self) -> float:
        """Mean F1 of the sentences, 0 to 100."""
        return sum(self.f1) / len(self.f1) if self.f1 else 0.0

    @property
    def precision(self) -> float:
        """Precision over the whole corpus, 0 to 100."""
        if not self.predicted:
            return 0.0 if self.gold else 100.0
        return 100 * self.matched / self.predicted

    @property
    def recall(self) -> float:
        """Recall over the whole corpus, 0 to 100."""
        return 100 * self.matched / self.gold if self.gold else 100.0

    @property
    def f1_corpus(self) -> float:
        """F1 over the whole corpus, 0 to 100."""
        return f1_of_counts(self.matched, self.predicted, self.gold)

    def recall_of(self, label: str) -> float | None:
        """Share of a label's gold constituents that were found, 0 to 100; None without any."""
        return 100 * self.found[label] / self.labels[label] if self.labels[label] else None
