"""Trained parsers of dependencies: the base class, and parsers inside translation models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.inference.analysis import Analysis
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import (
    BATCH_WORDS,
    LONGEST,
    RawSentence,
    Words,
    by_length,
    words_of,
)
from fairseq_struct.inference.results.arc_marginals import ArcMarginalsOfBatch
from fairseq_struct.inference.results.of_tools import ParsesSentences
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency import depths as depths_of
from fairseq_struct.structure.inferred_trees import DEPENDENCIES


class DependencyParser(ParsesSentences):
    """A trained parser of single sentences.

    Args:
        model: the module that contains the parser.
        longest: maximum number of words of a sentence.
        batch_words: maximum number of words of a batch, padding included.
    """

    tree_kind = DEPENDENCIES

    def __init__(self, model, longest: int = LONGEST, batch_words: int = BATCH_WORDS):
        self.model = model.eval()
        self._by_length = partial(
            by_length, read=partial(words_of, longest=longest), batch_words=batch_words
        )

    def trees(self, sentences: Iterable[RawSentence]) -> Iterator[Analysis]:
        """Yield the trees of sentences, in order; spaces separate the words.

        The sentences must be segmented as in training.

        Raises:
            InputError: a sentence is empty or too long.
        """
        return self._by_length(sentences, self._analyses)

    def _analyses(self, sentences: list[Words], *given) -> list[Analysis]:
        heads, trees = self._found(sentences, *given)
        depths = depths_of(heads, trees.lengths).tolist()
        marginals = ArcMarginalsOfBatch(trees).of_rows()
        rows = zip(sentences, heads.tolist(), depths, marginals, strict=True)
        return [
            Analysis(
                (words,), heads=(tuple(own[: len(words)]),), depths=(depth,), marginals=(marginal,)
            )
            for words, own, depth, marginal in rows
        ]

    @abstractmethod
    def _found(self, sentences: list[Words]) -> tuple[Tensor, DependencyTrees]:
        """Heads (batch, n) of the best trees, and the distribution over trees."""

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return next(self.model.parameters()).device


class TranslationParser(DependencyParser):
    """The parser inside a trained translation model.

    Args:
        encoder: a ``LatentTreeEncoder``.
        words: the source dictionary.
        longest, batch_words: as for :class:`DependencyParser`.
    """

    def __init__(self, encoder, words, longest: int = LONGEST, batch_words: int = BATCH_WORDS):
        super().__init__(encoder, longest, batch_words)
        self.words = words

    @in_evaluation
    def _found(self, sentences: list[Words]) -> tuple[Tensor, DependencyTrees]:
        end = self.words.eos()
        rows = [[*(index_of(self.words, word) for word in words), end] for words in sentences]
        tokens = padded(list(map(torch.tensor, rows)), self.words.pad())
        scores, lengths = self.model.arc_scores(tokens.to(self.device))
        return self.model.tree.heads(scores, lengths), self.model.tree.trees(scores, lengths)
