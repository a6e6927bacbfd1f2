"""Trained classifiers, with or without latent trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.data.datasets.gold_trees import formula_tree
from fairseq_struct.data.datasets.labelled_sentences import side_by_side
from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.errors import InputError, NotFiniteScores
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.inference.analysis import Analysis
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.parsers.constituency import Constituents
from fairseq_struct.inference.reading import (
    BATCH_WORDS,
    LONGEST,
    RawSentence,
    Words,
    by_length,
    is_list,
    text_of,
    words_of,
)
from fairseq_struct.inference.results.arc_marginals import ArcMarginalsOfBatch
from fairseq_struct.inference.results.of_tools import ParsesSentences, classification_of
from fairseq_struct.inference.results.sequence_of_results import Results
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, DEPENDENCIES, InferredTrees


class Classifier(ParsesSentences):
    """A trained classifier of sentences or sentence pairs.

    Args:
        model: a ``ClassifierModel``.
        words, labels: dictionaries of the model.
        longest_sentence: maximum number of words of a sentence, 0 for no limit.
        truncate: cut longer sentences instead of refusing them.
        lower: lower-case words, as in the training text.
        longest: maximum number of words of a sentence for a model without limit.
        batch_words: maximum number of words of a batch, padding included; of a pair, only the
            longer sentence counts.
        formulas: kind of formulas that all sentences are; None for other text. A model that reads
            constituents gets their own trees.
    """

    def __init__(
        self, model, words, labels, longest_sentence: int = 0, truncate: bool = False,
        lower: bool = False, longest: int = LONGEST, batch_words: int = BATCH_WORDS,
        formulas: str | None = None,
    ):  # fmt: skip
        self.model = model.eval()
        self.words = words
        self.label_names = labels.symbols[labels.nspecial :]
        self.longest_sentence = longest_sentence
        self.truncate = truncate
        self.lower = lower
        self.longest = longest
        self.formulas = formulas
        self._by_length = partial(by_length, length=_longest_side, batch_words=batch_words)

    @property
    def tree_kind(self) -> str | None:
        """``dependencies`` or ``constituents``; None for a model without trees."""
        return self.model.tree_kind

    @property
    def sides(self) -> int:
        """Sentences per instance, 1 or 2."""
        return self.model.sides

    def analyse(self, instances: Iterable[str | Sequence]) -> Iterator[Analysis]:
        """Yield labels and trees of instances, in order.

        Args:
            instances: each a sequence of one or two sentences, or a string in which a tab separates
                two sentences; a single sentence may also be given by itself. A sentence is a
                string, in which spaces separate the words, or a list of its words. So a list of
                strings is a pair where the model reads pairs, and one of several strings is words
                where it reads single sentences, unless each has a space.

        Raises:
            InputError: the number of sentences is wrong, or a sentence is empty or too long; with
                the instance's number, counted from 1.
        """
        return self._by_length(instances, self._analyse, self._words)

    def classify(self, instances: Iterable[str | Sequence]) -> Results:
        """The most likely label of each instance, as a list of :class:`.Classification`."""
        return Results(map(classification_of, self.analyse(instances)))

    def trees(self, sentences: Iterable[RawSentence]) -> Iterator[Analysis | Constituents]:
        """Yield the trees of sentences with the full analysis of each sentence.

        A model of pairs reads every sentence twice, as a pair; a tree does not depend on the other
        sentence of its pair.

        Raises:
            InputError: the model has no trees, or as for :meth:`analyse`.
        """
        if self.tree_kind is None:
            raise InputError("this classifier infers no trees")
        found = self._by_length(sentences, self._analyse, self._repeated)
        return (one.constituents() for one in found) if self.tree_kind == CONSTITUENTS else found

    def _repeated(self, number: int, sentence: RawSentence) -> tuple[Words, ...]:
        if "\t" in text_of(number, sentence):
            raise InputError(f"line {number}: a sentence pair; trees are for single sentences")
        return self._words(number, (sentence,) * self.sides)

    def _words(self, number: int, instance: str | Sequence) -> tuple[Words, ...]:
        if not is_list(instance):
            instance = text_of(number, instance).split("\t")
        elif self.sides == 1 and len(instance) != 1 and not _are_sentences(instance):
            instance = (instance,)  # the words of the sentence
        if len(instance) != self.sides:
            found = len(instance)
            raise InputError(
                f"line {number}: {found} sentence(s), but this model reads {self.sides}"
            )
        longest = sys.maxsize if self.longest_sentence else self.longest
        split = tuple(words_of(number, sentence, longest) for sentence in instance)
        for words in split:
            if self.longest_sentence and len(words) > self.longest_sentence and not self.truncate:
                raise InputError(
                    f"line {number}: {len(words)} words, more than the {self.longest_sentence} "
                    "allowed; --truncate cuts the sentence"
                )
        if self.formulas:
            for words in split:
                formula_tree(words, self.formulas, f"line {number}")  # refuses what is no formula
        return tuple(words[: self.longest_sentence or None] for words in split)

    @in_evaluation
    def _read(self, batch: list[tuple[Words, ...]]) -> tuple[Tensor, InferredTrees | None]:
        """Scores of the labels, and the trees of all sentences, instance by instance."""
        lengths = torch.tensor([[len(words) for words in one] for one in batch])
        rows = [torch.tensor(list(map(self._number, words))) for one in batch for words in one]
        tokens = padded(rows, self.words.pad()).unflatten(0, lengths.shape)
        device = next(self.model.parameters()).device
        gold = {}
        if self.formulas and getattr(self.model, "gold_kind", None) == CONSTITUENTS:
            trees = [[formula_tree(words, self.formulas) for words in one] for one in batch]
            gold["gold_trees"] = side_by_side(trees, tokens.size(2), (3,)).to(device)
        output = self.model(tokens.to(device), lengths.to(device), **gold)
        return output.logits, output.trees

    def _number(self, word: str) -> int:
        return index_of(self.words, word.lower() if self.lower else word)

    @in_evaluation
    def _analyse(self, batch: list[tuple[Words, ...]]) -> Iterator[Analysis]:
        logits, trees = self._read(batch)
        if logits.isnan().any():
            raise NotFiniteScores("the scores of labels are NaN: the training has diverged")
        chances = logits.float().softmax(1).tolist()
        found = [{}] * len(batch) if trees is None else self._of_trees(trees)
        for one, row, about_trees in zip(batch, chances, found, strict=True):
            probabilities = dict(zip(self.label_names, row, strict=True))
            label = max(probabilities, key=probabilities.__getitem__)
            yield Analysis(one, label, probabilities, **about_trees)

    def _of_trees(self, trees: InferredTrees) -> list[dict[str, tuple]]:
        """What an :class:`.Analysis` says of the trees of each instance."""
        of_sentences = {"depths": trees.depths().flatten().tolist()}
        if trees.kind == DEPENDENCIES:
            of_sentences["heads"] = trees.heads()
            if (distribution := trees.distribution()) is not None:
                of_sentences["marginals"] = ArcMarginalsOfBatch(distribution).of_rows()
        else:
            of_sentences["spans"] = trees.spans()
        columns = (zip(*[iter(own)] * self.sides, strict=True) for own in of_sentences.values())
        return [dict(zip(of_sentences, row, strict=True)) for row in zip(*columns, strict=True)]


def _longest_side(instance: tuple[Words, ...]) -> int:
    return max(map(len, instance))


def _are_sentences(parts: Sequence) -> bool:
    """Whether these are sentences rather than the words of one, of which some have spaces."""
    spaced = [isinstance(part, str) and " " in part for part in parts]
    return any(map(is_list, parts)) or (bool(spaced) and all(spaced))
