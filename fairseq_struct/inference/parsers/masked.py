"""Dependency trees of trained masked language models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.parsers.dependency import DependencyParser
from fairseq_struct.inference.reading import BATCH_WORDS, LONGEST, RawSentence, Words
from fairseq_struct.inference.vocabulary import Vocabulary
from fairseq_struct.structure.dependency import DependencyTrees, readings, trees_of_selection


class MaskedParser(DependencyParser):
    """Finds maximum spanning trees of a model's arc scores, with no word hidden.

    Args:
        model: a masked language model with a parser, such as ``udgn``.
        words: dictionary of the model.
        single_root: allow only trees whose root has one modifier.
        bfloat16: run the network, but not the search for trees, in this precision. On processors
            that support it, this takes half the time. Nearly equal scores may change their order.
        longest, batch_words: as for :class:`.DependencyParser`.

    Raises:
        InputError: the model has no parser.
    """

    def __init__(
        self, model, words, single_root: bool = True, bfloat16: bool = False,
        longest: int = LONGEST, batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        if not model.parses:
            raise InputError(f"{type(model).__name__} infers no trees")
        super().__init__(model, longest, batch_words)
        self.vocabulary = Vocabulary(words)
        self.single_root, self.bfloat16 = single_root, bfloat16

    def readings(self, sentences: Iterable[RawSentence]) -> Iterator[dict[str, list[int]]]:
        """Yield the heads of every decoding of the scores: see :func:`.head_selection.readings`.

        Raises:
            InputError: a sentence is empty or too long.
        """
        return self._by_length(sentences, self._readings)

    def _readings(self, words: list[Words]) -> list[dict[str, list[int]]]:
        found = readings(*self._arc_scores(words), self.single_root)
        heads = {name: own.tolist() for name, own in found.items()}
        return [
            {name: own[row][: len(one)] for name, own in heads.items()}
            for row, one in enumerate(words)
        ]

    @in_evaluation
    def _arc_scores(self, words: list[Words]) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(one) for one in words], device=self.device)
        # Vocabulary.read adds an end of sentence before the words; here it is removed.
        tokens = self.vocabulary.read(words)[:, 1:].to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            return self.model.arc_scores(tokens, lengths).float(), lengths

    def _found(self, sentences: list[Words]) -> tuple[Tensor, DependencyTrees]:
        trees = trees_of_selection(*self._arc_scores(sentences), self.single_root)
        return trees.heads, trees
