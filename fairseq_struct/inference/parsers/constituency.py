"""Constituency trees of a trained language model with syntactic distances of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import tree_of
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import (
    BATCH_WORDS,
    LONGEST,
    RawSentence,
    Words,
    by_length,
    words_of,
)
from fairseq_struct.inference.results.of_tools import ParsesSentences
from fairseq_struct.inference.vocabulary import Vocabulary
from fairseq_struct.structure.inferred_trees import CONSTITUENTS
from fairseq_struct.structure.spans import DISTANCE_SPLITS, Span, tree_of_distances


@dataclass(frozen=True)
class Constituents:
    """The constituency tree of a sentence.

    Attributes:
        words: words of the sentence.
        spans: (start, end) of its constituents of two or more words, from 0, the end excluded.
        distances: distances of its words (ON-LSTM paper, eq. 15); None if the model has none.
        labels: category of each constituent, or several, from the outside in, joined by ``+``;
            None if the model has none.
        tags: part of speech of each word, after the categories of phrases of this word alone,
            joined by ``+``; None if none are known.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    distances: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None

    @property
    def labelled(self) -> bool:
        """Whether anything is known beside words and spans that a tree shows: labels or tags."""
        return self.labels is not None or self.tags is not None

    def tree(self) -> Tree:
        """The tree as ``nltk`` has it; joined categories are constituents inside each other."""
        return tree_of(self.words, self.spans, self.labels, self.tags)


class ConstituencyParser(ParsesSentences):
    """Parses by the distances of a layer (ON-LSTM paper, section 5.2).

    The model reads each sentence from a zero state, after an end-of-sentence symbol. For unknown
    words see :class:`.Vocabulary`.

    Args:
        model: a model with ``distances`` of ``tree_layers`` layers, such as ``on_lstm_lm``.
        words: dictionary of the model.
        layer: layer of the distances, from 1; the model's ``best_tree_layer`` by default.
        split: as for :func:`.tree_of_distances`.
        longest: maximum number of words of a sentence.
        batch_words: maximum number of words of a batch, padding included.

    Raises:
        InputError: the layer or the split does not exist.
    """

    tree_kind = CONSTITUENTS

    def __init__(
        self, model, words, layer: int | None = None, split: str = "word", longest: int = LONGEST,
        batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        self.model, self.vocabulary = model.eval(), Vocabulary(words)
        count = model.tree_layers
        self.layer = model.best_tree_layer if layer is None else layer
        if not 1 <= self.layer <= count:
            raise InputError(f"--layer must be 1 to {count} for this model, not {layer}")
        if split not in DISTANCE_SPLITS:
            raise InputError(unknown_name("--split", split, DISTANCE_SPLITS))
        self.split = split
        self._by_length = partial(
            by_length, read=partial(words_of, longest=longest), batch_words=batch_words
        )

    def trees(self, sentences: Iterable[RawSentence]) -> Iterator[Constituents]:
        """Yield the trees of sentences, in order; spaces separate the words.

        Raises:
            InputError: a sentence is empty or too long.
        """
        return self._by_length(sentences, self._constituents)

    def _constituents(self, sentences: list[Words]) -> Iterator[Constituents]:
        for words, distances in zip(sentences, self._distances(sentences), strict=True):
            spans = tree_of_distances(distances, self.split)
            yield Constituents(words, tuple(spans), tuple(distances))

    @in_evaluation
    def _distances(self, sentences: list[Words]) -> list[list[float]]:
        device = next(self.model.parameters()).device
        tokens = self.vocabulary.read(sentences)
        found = self.model.distances(tokens.to(device))[self.layer - 1].tolist()
        return [row[1 : len(w) + 1] for row, w in zip(found, sentences, strict=True)]
