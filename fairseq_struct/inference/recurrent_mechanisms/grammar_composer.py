"""Trained composers of sentences: their trees, their steps, and the vectors of whole sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from nltk import Tree
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.data.readers.bracket_trees import JOINED, leaves_of, taken_apart
from fairseq_struct.data.readers.transformation_lists import (
    NOT_JOINED,
    ListOptions,
    Step,
    normalised_tree,
    steps_of,
    tag_of,
    word_spans,
)
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.parsers.constituency import Constituents
from fairseq_struct.inference.reading import (
    BATCH_WORDS,
    LONGEST,
    RawSentence,
    Words,
    by_length,
    refuse_long,
    words_of,
)
from fairseq_struct.inference.recurrent_mechanisms.steps import CompositionSteps, UnitUse
from fairseq_struct.inference.results.of_tools import ParsesSentences
from fairseq_struct.structure.inferred_trees import CONSTITUENTS
from fairseq_struct.structure.spans import Span

TAGS = ("none", "given")


class _Sentence(NamedTuple):
    """Words, and their parts of speech if they are given."""

    words: Words
    tags: tuple[str, ...] | None = None


class _GoldSentence(NamedTuple):
    """Words and the steps of their gold tree; no words if nothing is left of the tree."""

    words: Words
    steps: tuple[Step, ...]
    spans: tuple[Span, ...]


class GrammarComposer(ParsesSentences):
    """Composes sentences to constituency trees by the spans of a trained model.

    A word that the dictionary lacks is unknown to the model. Trees have labels if the model
    predicts categories.

    Args:
        model: a model that ``composes``.
        words: dictionary of the model.
        categories: names of categories, by number.
        lower: whether words are lower-cased before they are looked up.
        lists: how gold trees are normalised, as those of the training part were; the defaults if
            None.
        word_categories: names of the categories of words, which phrases cannot have; no bound if
            there are none.
        beam: sequences of steps that are kept (:func:`.compose_freely`).
        tags: ``none``: raw text, whose words the model tags, if it predicts categories; ``given``:
            words are written word/TAG, and these are the parts of speech of the trees. The model
            reads the words only.
        longest: maximum number of words of a sentence.
        batch_words: maximum number of words of a batch, padding included, and sequences of a beam
            counted one by one.

    Raises:
        InputError: tags that are neither, or no sequence in a beam.
    """

    tree_kind = CONSTITUENTS

    def __init__(
        self, model, words, categories: Sequence[str] = (), lower: bool = True,
        lists: ListOptions | None = None, word_categories: Collection[str] = (), beam: int = 1,
        tags: str = "none", longest: int = LONGEST, batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        if tags not in TAGS:
            raise InputError(unknown_name("--tags", tags, TAGS))
        if beam < 1:
            raise InputError(f"--beam must be 1 or more, not {beam}")
        self.model, self.words, self.categories = model.eval(), words, tuple(categories)
        self.lower, self.beam = lower, beam
        self._of_words = None
        if word_categories:
            self._of_words = torch.tensor([name in word_categories for name in self.categories])
        read = partial(_tagged_words if tags == "given" else _raw_words, longest=longest)
        self._by_length = partial(
            by_length, read=read, length=lambda one: len(one.words),
            batch_words=max(1, batch_words // beam),
        )  # fmt: skip
        self._gold_by_length = partial(
            by_length, read=partial(_gold_sentence, lists=lists or ListOptions(), longest=longest),
            length=lambda one: max(1, len(one.words)), batch_words=batch_words,
        )  # fmt: skip

    def trees(self, sentences: Iterable[RawSentence]) -> Iterator[Constituents]:
        """Yield the trees of sentences, in order; spaces separate the words.

        Raises:
            InputError: a sentence is empty or too long, or a tag is missing.
        """
        return self._by_length(sentences, self._constituents)

    def steps(self, sentences: Iterable[RawSentence]) -> Iterator[CompositionSteps]:
        """Yield how the model composes sentences by its own spans; errors as for trees."""
        return self._by_length(sentences, self._own_steps)

    def steps_along(self, trees: Iterable[tuple[str, Tree]]) -> Iterator[CompositionSteps | None]:
        """Yield what the model does along gold steps, in order.

        Args:
            trees: file and line, and the gold tree, with a part of speech above every word.

        Yields:
            None where nothing but punctuation is in the tree, and the model was trained without.

        Raises:
            InputError: a word without a part of speech, a tree without words, or too long.
        """
        return self._gold_by_length(trees, self._gold_steps)

    def units(self, trees: Iterable[tuple[str, Tree]]) -> UnitUse:
        """How often units are active for each tag along gold steps; arguments and errors as there.

        The tag of a step is a part of speech or that of a phrase (:func:`.tag_of`).

        Raises:
            InputError: the model has no units, or there are no steps.
        """
        found: Counter = Counter()
        for one in self.steps_along(trees):
            if one is None:
                continue
            if one.shares is None:
                raise InputError("has no units")
            for (start, end), category, shares in zip(
                one.spans, one.categories, one.shares.tolist(), strict=True
            ):
                active = tuple(share > 0 for share in shares)
                found[tag_of(category, end - start == 1), active] += 1
        if not found:
            raise InputError("there is no step to compose")
        return _unit_use(found)

    def vectors(self, sentences: Iterable[RawSentence]) -> Tensor:
        """The symbols of whole sentences, (count, size); errors as for trees."""
        found = list(self._by_length(sentences, self._roots))
        return torch.stack(found) if found else torch.zeros(0, self.model.network.size)

    @in_evaluation
    def _constituents(self, batch: list[_Sentence]) -> Iterator[Constituents]:
        found = self._composed(batch)
        for sentence, spans, names in zip(batch, found.spans(), self._names(found), strict=True):
            yield _tree_of_steps(sentence, spans, names)

    @in_evaluation
    def _own_steps(self, batch: list[_Sentence]) -> Iterator[CompositionSteps]:
        found = self._composed(batch, keep=True)
        spans, names = found.spans(), self._names(found)
        for row, sentence in enumerate(batch):
            yield _steps(found, row, sentence.words, spans[row], names[row], False)

    @in_evaluation
    def _gold_steps(self, batch: list[_GoldSentence]) -> Iterator[CompositionSteps | None]:
        full = [one for one in batch if one.words]
        found = self._followed(full) if full else None
        rows = iter(range(len(full)))
        for one in batch:
            if one.words:
                names = [step.category for step in one.steps]
                yield _steps(found, next(rows), one.words, one.spans, names, True)
            else:
                yield None

    @in_evaluation
    def _roots(self, batch: list[_Sentence]) -> list[Tensor]:
        return list(self._composed(batch).symbols.float().cpu())

    def _composed(self, batch: list[_Sentence], keep: bool = False):
        return self.model.compose(*self._read(batch), self.beam, keep, self._of_words)

    def _followed(self, batch: list[_GoldSentence]):
        tokens, lengths = self._read(batch)
        starts, ends = (
            padded([torch.tensor([span[side] for span in one.spans]) for one in batch], 0)
            for side in (0, 1)
        )
        counts = torch.tensor([len(one.spans) for one in batch])
        device = tokens.device
        return self.model(tokens, lengths, starts.to(device), ends.to(device), counts.to(device))

    def _read(self, batch: Sequence[_Sentence | _GoldSentence]) -> tuple[Tensor, Tensor]:
        """Tokens (batch, n), padded, and lengths (batch,)."""
        device = next(self.model.parameters()).device
        rows = [torch.tensor(list(map(self._number, one.words))) for one in batch]
        lengths = torch.tensor(list(map(len, rows)), device=device)
        return padded(rows, self.words.pad()).to(device), lengths

    def _number(self, word: str) -> int:
        return index_of(self.words, word.lower() if self.lower else word)

    def _names(self, found) -> list[list[str] | None]:
        """Names of the categories of each sentence's steps."""
        if found.categories is None:
            return [None] * len(found.going)
        rows = zip(found.categories.tolist(), found.going.sum(1).tolist(), strict=True)
        return [[self.categories[number] for number in row[:count]] for row, count in rows]


def _raw_words(number: int, sentence: str, longest: int) -> _Sentence:
    return _Sentence(words_of(number, sentence, longest))


def _tagged_words(number: int, sentence: str, longest: int) -> _Sentence:
    pairs = [word.rpartition("/") for word in words_of(number, sentence, longest)]
    for word, slash, tag in pairs:
        if not word or not tag:
            # Without a slash, all of it is behind where one would be.
            missing = "word" if slash and tag else "tag"
            raise InputError(
                f"line {number}: '{word}{slash}{tag}' has no {missing}; with --tags given, words "
                "are written word/TAG"
            )
    # As in prepared trees: + joins categories.
    tags = tuple(tag.replace(JOINED, NOT_JOINED) for *_, tag in pairs)
    return _Sentence(tuple(word for word, *_ in pairs), tags)


def _gold_sentence(
    _: int, placed: tuple[str, Tree], lists: ListOptions, longest: int
) -> _GoldSentence:
    place, given = placed
    tree = normalised_tree(taken_apart(given), lists, place)
    if tree is None:
        return _GoldSentence((), (), ())
    words, steps = tuple(leaves_of(tree)), tuple(steps_of(tree))
    refuse_long(place, len(words), longest)
    return _GoldSentence(words, steps, tuple(word_spans(steps, len(words))))


def _tree_of_steps(
    sentence: _Sentence, spans: Sequence[Span], names: Sequence[str] | None
) -> Constituents:
    """The tree that own steps build; given tags replace predicted ones, not phrases above them."""
    phrases = sorted((span for span in spans if span[1] - span[0] > 1),
                     key=lambda span: (span[0], -span[1]))  # fmt: skip
    if names is None:
        return Constituents(sentence.words, tuple(phrases), tags=sentence.tags)
    named = dict(zip(spans, names, strict=True))
    tags = [named[place, place + 1] for place in range(len(sentence.words))]
    if sentence.tags is not None:
        above = (tag.split(JOINED)[:-1] for tag in tags)
        tags = [JOINED.join([*own, given])
                for own, given in zip(above, sentence.tags, strict=True)]  # fmt: skip
    labels = tuple(named[span] for span in phrases)
    return Constituents(sentence.words, tuple(phrases), labels=labels, tags=tuple(tags))


def _steps(
    found, row: int, words: Words, spans: Sequence[Span], names: Sequence[str] | None, gold: bool
) -> CompositionSteps:
    """The steps of a sentence of a batch, without padding."""
    count, n = len(spans), len(words)
    shares = None if found.shares is None else found.shares[row, :count].float().cpu()
    return CompositionSteps(
        words, tuple(spans), None if names is None else tuple(names),
        found.attention[row, :count, :n].float().cpu(), found.live[row, :count, :n].cpu(), shares,
        gold,
    )  # fmt: skip


def _unit_use(found: Counter) -> UnitUse:
    """Tables of the numbers of steps by tag and active units."""
    totals: Counter = Counter()
    for (tag, _), count in found.items():
        totals[tag] += count
    tags = tuple(sorted(totals, key=lambda tag: (-totals[tag], tag)))
    every = sorted({active for _, active in found}, reverse=True)
    sets = torch.tensor([[found[tag, active] for active in every] for tag in tags])
    return UnitUse(tags, sets.sum(1), sets @ torch.tensor(every).long(), sets)
