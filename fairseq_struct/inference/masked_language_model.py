"""Dependency trees of trained masked language models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.inference.dependency import Analysis
from fairseq_struct.inference.language_model import Vocabulary
from fairseq_struct.inference.reading import BATCH_WORDS, LONGEST, Words, by_length, words_of
from fairseq_struct.structure.dependency.head_selection import readings, spanning_trees
from fairseq_struct.structure.dependency.heads import depths


class MaskedParser:
    """Maximum spanning trees of what a model's parser believes, with none of the words hidden.

    Args:
        model: a masked language model with a parser, such as ``udgn``.
        words: its dictionary.
        single_root: only trees whose root has one modifier.
        bfloat16: run the network, but not the search for trees, in that precision. On processors
            that have it, this takes half the time; scores that are nearly equal may change places.
        longest: most words of a sentence.
        batch_words: most words that are read at once.

    Raises:
        InputError: the model has no parser.
    """

    tree_kind = "dependencies"

    def __init__(
        self, model, words, single_root: bool = True, bfloat16: bool = False,
        longest: int = LONGEST, batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        if not model.parses:
            raise InputError(f"{type(model).__name__} infers no trees")
        self.model, self.vocabulary = model.eval(), Vocabulary(words)
        self.single_root, self.bfloat16 = single_root, bfloat16
        self._by_length = partial(
            by_length, read=partial(words_of, longest=longest), batch_words=batch_words
        )

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the trees of sentences, 1-based, 0 the root."""
        return [tree.heads[0] for tree in self.trees(sentences)]

    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """Trees of sentences whose words are separated by spaces, in order.

        Raises:
            InputError: an empty sentence, or one that is too long.
        """
        return self._by_length(sentences, self._analyses)

    def readings(self, sentences: Iterable[str]) -> Iterator[dict[str, list[int]]]:
        """Heads in every way that scores are read: see :func:`.head_selection.readings`.

        Raises:
            InputError: an empty sentence, or one that is too long.
        """
        return self._by_length(sentences, self._readings)

    def _readings(self, words: list[Words]) -> list[dict[str, list[int]]]:
        found = readings(*self._arc_scores(words), self.single_root)
        heads = {name: own.tolist() for name, own in found.items()}
        return [
            {name: own[row][: len(one)] for name, own in heads.items()}
            for row, one in enumerate(words)
        ]

    @torch.inference_mode()
    def _arc_scores(self, words: list[Words]) -> tuple[Tensor, Tensor]:
        device = next(self.model.parameters()).device
        lengths = torch.tensor([len(one) for one in words], device=device)
        # Sentences of a language model begin behind the end of another one; here they do not.
        tokens = self.vocabulary.read(words)[:, 1:].to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bfloat16):
            return self.model.arc_scores(tokens, lengths).float(), lengths

    def _analyses(self, words: list[Words]) -> list[Analysis]:
        scores, lengths = self._arc_scores(words)
        heads = spanning_trees(scores, lengths, self.single_root)
        rows = zip(words, heads.tolist(), depths(heads, lengths).tolist(), strict=True)
        return [
            Analysis((one,), None, {}, (tuple(own[: len(one)]),), (depth,))
            for one, own, depth in rows
        ]
