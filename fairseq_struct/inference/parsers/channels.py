"""Channel weights of a trained masked language model along gold dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.errors import InputError
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import (
    BATCH_WORDS,
    LONGEST,
    Words,
    by_length,
    refuse_long,
    words_of,
)
from fairseq_struct.inference.vocabulary import Vocabulary


class ArcChannels:
    """Computes the share of every channel, in all layers, in gold arcs, with no word hidden.

    Args:
        model: a masked language model.
        words: dictionary of the model.
        longest: maximum number of words of a sentence.
        batch_words: maximum number of words of a batch, padding included.
    """

    def __init__(self, model, words, longest: int = LONGEST, batch_words: int = BATCH_WORDS):
        self.model, self.vocabulary, self.longest = model.eval(), Vocabulary(words), longest
        self.names: list[str] = []
        read = partial(words_of, longest=longest)
        self._by_length = partial(by_length, read=read, batch_words=batch_words)

    def arcs(self, trees: Sequence[Sentence]) -> Iterator[tuple[Tensor, list[str]]]:
        """Yield for every tree the shares (arcs, channels) of parents in children, and arc types.

        After the first sentence, ``names`` has the names of the channels: ``1.2`` is the second
        channel of the first layer. The arc to the root does not count.

        Raises:
            InputError: a tree has no relations, or too many words.
        """
        for tree in trees:
            refuse_long(tree.place, len(tree.words), self.longest)
            if not tree.relations:
                raise InputError(f"{tree.place}: no relations, so arcs have no types")
        lines = (" ".join(tree.words) for tree in trees)
        every = self._by_length(lines, self._shares)
        for tree, shares in zip(trees, every, strict=True):
            arcs = [(child, head - 1) for child, head in enumerate(tree.heads) if head]
            if arcs:
                children, parents = zip(*arcs, strict=True)
                yield shares[:, parents, children].T, [tree.relations[one] for one in children]

    @in_evaluation
    def _shares(self, sentences: list[Words]) -> list[Tensor]:
        device = next(self.model.parameters()).device
        lengths = torch.tensor([len(one) for one in sentences], device=device)
        layers = self.model.shares(self.vocabulary.read(sentences)[:, 1:].to(device), lengths)
        self.names = [
            f"{number}.{channel}"
            for number, layer in enumerate(layers, 1)
            for channel in range(1, layer.size(1) + 1)
        ]
        return list(torch.cat(layers, 1).float().cpu())
