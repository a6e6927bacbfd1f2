"""A fairseq dataset of labelled sentences or sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from fairseq.data import data_utils
from torch import Tensor

from fairseq_struct.data.datasets.mapped.tokens import MappedTokens
from fairseq_struct.data.datasets.whole_batches import (
    ShuffledEachEpoch,
    SizedSentences,
    by_size,
    padded,
    sizes_of,
)

# Value of unknown entries of a gold tree, and padding beyond its end.
UNKNOWN = -1


class LabelledSentences(ShuffledEachEpoch, SizedSentences):
    """Instances of one or two sentences.

    With ``shuffle``, a batch holds instances of similar length, and every epoch has different
    batches. No instance is left out, whatever ``--required-batch-size-multiple`` says.

    Args:
        sentences: for each side, a sequence of (n,) integer tensors.
        targets: (instances,) labels, or None.
        pad: index of the padding symbol.
        gold_trees: for each side, one gold tree per sentence, or None for a sentence without:
            heads (n,), or constituents (m, 3). None if no sentence has a gold tree.
        model_reads_trees: whether the model gets the gold trees; otherwise they are for scores.
        shuffle: change the order of the instances in every epoch.
        seed: seed of that order.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[Tensor]],
        targets: Tensor | MappedTokens | None,
        pad: int,
        gold_trees: Sequence[Sequence[Tensor | None]] | None = None,
        model_reads_trees: bool = True,
        shuffle: bool = False,
        seed: int = 1,
    ):
        self.sentences = sentences
        self.targets = targets
        self.pad = pad
        self.gold_trees = gold_trees
        self.model_reads_trees = model_reads_trees
        self.shuffle = shuffle
        self.seed = seed

    @cached_property
    def sizes(self) -> np.ndarray:
        """Words of the longest sentence of each instance."""
        first, *others = map(sizes_of, self.sentences)
        for other in others:
            first = np.maximum(first, other)
        return first

    def __len__(self) -> int:
        return len(self.sentences[0])

    def __getitem__(self, index: int) -> dict:
        item = {"id": index, "sentences": [side[index].long() for side in self.sentences]}
        if self.targets is not None:
            item["target"] = self.targets[index]
        if self.gold_trees is not None:
            item["gold_trees"] = [side[index] for side in self.gold_trees]
        return item

    def collater(self, items: Sequence[dict]) -> dict:
        """A batch; ``net_input`` has ``tokens`` (batch, k, n) and ``lengths`` (batch, k).

        ``gold_trees`` (batch, k, ...) are in ``net_input`` if the model reads them, else beside it.
        """
        if not items:
            return {}
        lengths = torch.tensor([[len(s) for s in item["sentences"]] for item in items])
        rows = [sentence for item in items for sentence in item["sentences"]]
        tokens = padded(rows, self.pad).unflatten(0, lengths.shape)
        given = {"tokens": tokens, "lengths": lengths}
        if self.targets is not None:
            given["targets"] = torch.stack([item["target"] for item in items])
        batch = {
            "id": torch.tensor([item["id"] for item in items]),
            "nsentences": len(items),
            "ntokens": int(lengths.sum()),
            "net_input": given,
        }
        if self.gold_trees is not None:
            given_trees = [item["gold_trees"] for item in items]
            trees = side_by_side(given_trees, tokens.size(2), self._entries)
            (given if self.model_reads_trees else batch)["gold_trees"] = trees
        return batch

    @cached_property
    def _entries(self) -> torch.Size:
        """Shape of an entry of a gold tree."""
        some = next(tree for side in self.gold_trees for tree in side if tree is not None)
        return some.shape[1:]

    def ordered_indices(self) -> np.ndarray:
        if not self.shuffle:
            return np.arange(len(self))
        with data_utils.numpy_seed(self.seed, self.epoch):
            indices = np.random.permutation(len(self))
        return by_size(indices, self.sizes)


def side_by_side(
    rows: Sequence[Sequence[Tensor | None]], width: int, entries: Sequence[int]
) -> Tensor:
    """Trees of a batch as one tensor (batch, sides, m, *entries), with ``UNKNOWN`` for padding.

    Args:
        rows: for each instance, the tree (n, *entries) of each side, or None.
        width: the least m; that of the largest tree if it is larger.
        entries: shape of an entry of a tree.
    """
    width = max([width, *(len(tree) for row in rows for tree in row if tree is not None)])
    found = torch.full((len(rows), len(rows[0]), width, *entries), UNKNOWN)
    for row, trees in zip(found, rows, strict=True):
        for own, tree in zip(row, trees, strict=True):
            if tree is not None:
                own[: len(tree)] = tree
    return found
