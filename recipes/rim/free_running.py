"""Scores of the trees that composers build by their own spans, from the words alone.

``f1`` is the unlabelled F1 over the corpus, ``f1_sentence`` the mean of the sentences'. Punctuation
and currency symbols are taken out of both trees, and spans of one word and of the whole sentence do
not count. ``f1_labelled`` has labels, and the whole sentence counts. For ``category_accuracy``, all
steps before the predicted one are the gold ones. The network is that of the last epoch. It has
learned from gold trees.
"""

from collections.abc import Iterable

import torch
from nltk import Tree
from scored_runs import publish_runs
from test_part import TestPart

from fairseq_struct.data.readers.bracket_trees import leaves_of, nodes_of, spans_of
from fairseq_struct.data.readers.penn_treebank import WORDS
from fairseq_struct.data.readers.transformation_lists import tag_of
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.metrics.labelled_bracketing import LabelledScores
from fairseq_struct.structure.spans import Span, without_words

Labelled = list[tuple[str, Span]]


class TreeScores:
    """Scores of predicted trees against gold trees, without punctuation."""

    def __init__(self):
        self.unlabelled, self.labelled = BracketingScores(), LabelledScores()

    def add(self, predicted: Labelled, gold: Tree, kept: list[int]):
        """Add a sentence.

        Args:
            predicted: constituents over the words that count.
            gold: tree over all words.
            kept: places of the words that count.
        """
        theirs = _over(spans_of(gold), kept)
        spans = ([span for _, span in labelled] for labelled in (predicted, theirs))
        self.unlabelled.add(*spans, len(kept))
        self.labelled.add(predicted, theirs, len(kept))

    def metrics(self, labels: bool) -> dict[str, float]:
        """Metrics of a record."""
        found = {"f1": self.unlabelled.f1_corpus, "f1_sentence": self.unlabelled.f1_sentence}
        if labels:
            found["f1_labelled"] = self.labelled.f1_labelled
        return {name: round(value, 2) for name, value in found.items()}


def words_that_count(tree: Tree) -> list[int]:
    """Places of the words that are no punctuation or currency symbols, by their gold tags."""
    tags = [tag_of(node.label(), True) for node in nodes_of(tree) if isinstance(node[0], str)]
    return [place for place, tag in enumerate(tags) if tag in WORDS]


def scores_of(trees: Iterable[Labelled], test: TestPart) -> TreeScores:
    """Scores of predicted trees over all words; sentences without a word are left out."""
    scores = TreeScores()
    for predicted, gold in zip(trees, test.trees, strict=True):
        kept = words_that_count(gold)
        if kept:
            scores.add(_over(predicted, kept), gold, kept)
    return scores


def _over(labelled: Labelled, kept: list[int]) -> Labelled:
    """Constituents over some of the words."""
    return [(label, own) for label, span in labelled for own in without_words([span], kept)]


@torch.inference_mode()
def category_accuracy(model, padding: int, test: TestPart) -> float:
    """Share of gold steps whose category is predicted, 0 to 100; unknown ones are wrong."""
    right = total = 0
    for given, sentences in test.batches(padding):
        done = model(**given)
        gold = test.padded(test.part.steps[:, 2], sentences)
        right += int((done.going & (done.scores.argmax(2) == gold)).sum())
        total += int(done.going.sum())
    return round(100 * right / total, 2)


def metrics_of(tool, log, test: TestPart) -> dict[str, float]:
    """Metrics of a record."""
    trees = map(spans_of, tool.parse(" ".join(leaves_of(tree)) for tree in test.trees))
    metrics = scores_of(trees, test).metrics(labels=True)
    metrics["category_accuracy"] = category_accuracy(tool.model, tool.words.pad(), test)
    return metrics


if __name__ == "__main__":
    publish_runs(__doc__.split("\n")[0], metrics_of, "punctuation not counted; ")
