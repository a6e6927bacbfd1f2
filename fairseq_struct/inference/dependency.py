"""Trained models with latent dependency trees: classifiers, and parsers within translation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from fairseq_struct.data.prepared.reserved_words import index_of
from fairseq_struct.errors import InputError
from fairseq_struct.inference.reading import LONGEST, Words, by_length, words_of
from fairseq_struct.structure.dependency.heads import depths as depths_of
from fairseq_struct.structure.inferred_trees import DEPENDENCIES


@dataclass(frozen=True)
class Analysis:
    """What a model makes of one instance.

    Attributes:
        sentences: its sentences, as words.
        label: the most likely label; None for a model that gives none.
        probabilities: of all labels.
        heads: for each sentence the heads of its best latent tree, 1-based, 0 the root; None for
            a model without trees.
        depths: for each sentence the most arcs between the root and a word; None likewise.
    """

    sentences: tuple[tuple[str, ...], ...]
    label: str | None
    probabilities: dict[str, float]
    heads: tuple[tuple[int, ...], ...] | None
    depths: tuple[int, ...] | None


class Classifier:
    """A trained classifier of sentences, or of pairs of them.

    Args:
        model: a ``ClassifierModel``.
        words, labels: its dictionaries.
        longest_sentence: most words of a sentence, 0 for any number.
        truncate: cut longer ones instead of refusing them.
        lower: lower-case words, as the training text was.
        longest: most words of a sentence for a model that takes any number.
    """

    def __init__(
        self, model, words, labels, longest_sentence: int = 0, truncate: bool = False,
        lower: bool = False, longest: int = LONGEST,
    ):  # fmt: skip
        self.model = model.eval()
        self.words = words
        self.label_names = labels.symbols[labels.nspecial :]
        self.longest_sentence = longest_sentence
        self.truncate = truncate
        self.lower = lower
        self.longest = longest

    @property
    def sides(self) -> int:
        """Sentences per instance, 1 or 2."""
        return self.model.sides

    def analyse(self, instances: Iterable[Sequence[str]]) -> Iterator[Analysis]:
        """Labels and trees of instances, in order.

        Args:
            instances: of one sentence or two, words separated by spaces; or each a string, in which
                a tab separates the two.

        Raises:
            InputError: another number of sentences, or one that is empty or too long; with the
                instance's number, counted from 1.
        """
        return by_length(instances, self._analyse, self._words, _longest_side)

    def classify(self, instances: Iterable[Sequence[str]]) -> list[str]:
        """The most likely labels."""
        return [analysis.label for analysis in self.analyse(instances)]

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the latent trees of sentences, 1-based, 0 the root.

        Raises:
            InputError: the model has no trees, and as for :meth:`analyse`.
        """
        return [analysis.heads[0] for analysis in self.trees(sentences)]

    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """As :meth:`parse`, but everything about each sentence.

        A model of pairs reads every sentence as both of them; trees do not depend on the other.
        """
        if self.model.tree_kind != DEPENDENCIES:
            raise InputError("this classifier infers no trees")
        return by_length(sentences, self._analyse, self._repeated, _longest_side)

    def _repeated(self, number: int, sentence: str) -> tuple[Words, ...]:
        if self.sides > 1 and "\t" in sentence:
            raise InputError(f"line {number}: a pair; trees are those of single sentences")
        return self._words(number, (sentence,) * self.sides)

    def _words(self, number: int, instance: Sequence[str]) -> tuple[Words, ...]:
        if isinstance(instance, str):
            instance = instance.split("\t")
        if len(instance) != self.sides:
            found = len(instance)
            raise InputError(
                f"line {number}: {found} sentence(s); this model reads {self.sides} at a time"
            )
        longest = sys.maxsize if self.longest_sentence else self.longest
        split = tuple(words_of(number, sentence, longest) for sentence in instance)
        for words in split:
            if self.longest_sentence and len(words) > self.longest_sentence and not self.truncate:
                raise InputError(
                    f"line {number}: {len(words)} words, more than the longest sentence allowed, "
                    f"{self.longest_sentence}; --truncate cuts it"
                )
        return tuple(words[: self.longest_sentence or None] for words in split)

    @torch.inference_mode()
    def _analyse(self, batch: list[tuple[Words, ...]]) -> Iterator[Analysis]:
        lengths = torch.tensor([[len(words) for words in one] for one in batch])
        tokens = torch.full((*lengths.shape, int(lengths.max())), self.words.pad())
        for row, one in enumerate(batch):
            for side, words in enumerate(one):
                known = (word.lower() if self.lower else word for word in words)
                indices = [index_of(self.words, word) for word in known]
                tokens[row, side, : len(words)] = torch.tensor(indices)
        device = next(self.model.parameters()).device
        output = self.model(tokens.to(device), lengths.to(device))
        chances = output.logits.float().softmax(1).tolist()
        heads = depths = [None] * len(batch)
        if output.trees is not None and output.trees.kind == DEPENDENCIES:
            flat = iter(output.trees.heads())
            heads = [tuple(next(flat) for _ in one) for one in batch]
            depths = map(tuple, output.trees.depths().view(lengths.shape).tolist())
        for one, row, own, deep in zip(batch, chances, heads, depths, strict=True):
            probabilities = dict(zip(self.label_names, row, strict=True))
            label = max(probabilities, key=probabilities.__getitem__)
            yield Analysis(one, label, probabilities, own, deep)


def _longest_side(instance: tuple[Words, ...]) -> int:
    return max(map(len, instance))


class TranslationParser:
    """The parser inside of a trained ``latent_tree_transformer``.

    Args:
        encoder: a ``LatentTreeEncoder``.
        words: the source dictionary.
        longest: most words of a sentence.
    """

    def __init__(self, encoder, words, longest: int = LONGEST):
        self.encoder = encoder.eval()
        self.words = words
        self._read = partial(words_of, longest=longest)

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the latent trees of sentences, 1-based, 0 the root."""
        return [analysis.heads[0] for analysis in self.trees(sentences)]

    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """Trees of sentences that are segmented as in training, in order.

        Raises:
            InputError: an empty sentence, or one that is too long.
        """
        return by_length(sentences, self._analyses, self._read)

    @torch.inference_mode()
    def _analyses(self, sentences: list[Words]) -> list[Analysis]:
        longest = max(map(len, sentences))
        tokens = torch.full((len(sentences), longest + 1), self.words.pad())
        for row, words in enumerate(sentences):
            own = [index_of(self.words, word) for word in words]
            tokens[row, : len(words) + 1] = torch.tensor([*own, self.words.eos()])
        device = next(self.encoder.parameters()).device
        scores, lengths = self.encoder.arc_scores(tokens.to(device))
        heads = self.encoder.tree.heads(scores, lengths)
        rows = zip(sentences, heads.tolist(), depths_of(heads, lengths).tolist(), strict=True)
        return [
            Analysis((words,), None, {}, (tuple(own[: len(words)]),), (depth,))
            for words, own, depth in rows
        ]
