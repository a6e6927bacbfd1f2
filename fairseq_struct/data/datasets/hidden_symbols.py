"""Sequences with hidden symbols, which a model completes."""

from __future__ import annotations

import numpy as np
import torch
from fairseq.data import data_utils

from fairseq_struct.data.datasets.whole_batches import (
    RowsByIndex,
    ShuffledEachEpoch,
    SizedSentences,
)
from fairseq_struct.data.generators.consecutive_runs import HiddenExamples


class HiddenSymbols(RowsByIndex, ShuffledEachEpoch, SizedSentences):
    """A fairseq dataset of sequences in memory.

    With ``shuffle``, a batch holds sequences of similar length, and every epoch has different
    batches.

    Args:
        data: the sequences and examples.
        shuffle: change the order of the examples in every epoch.
        seed: seed of that order.
    """

    def __init__(self, data: HiddenExamples, shuffle: bool = False, seed: int = 1):
        super().__init__()
        self.sequences, self.examples = (torch.from_numpy(part).long() for part in data)
        self.lengths = (self.sequences >= 0).sum(1)
        self.sizes = self.lengths[self.examples[:, 0]].numpy()
        self.shuffle, self.seed = shuffle, seed

    def __len__(self) -> int:
        return len(self.examples)

    def collater(self, indices) -> dict:
        """The sample of the examples at ``indices``; hidden symbols and padding are 0 in it.

        ``targets`` (batch, m) are -1 beyond the hidden symbols of a sequence.
        A worker that has no batch left gets an empty sample.
        """
        if not len(indices):
            return {}
        ids = torch.as_tensor(np.asarray(indices, dtype=np.int64))
        rows = self.examples[ids]
        numbers, places = rows[:, 0], rows[:, 1:]
        places = places[:, : int((places >= 0).sum(1).max())]
        lengths = self.lengths[numbers]
        whole = self.sequences[numbers, : int(lengths.max())]
        hidden, at = places >= 0, places.clamp(min=0)
        targets = whole.gather(1, at).masked_fill(~hidden, -1)
        ours = torch.zeros_like(whole, dtype=torch.bool)
        first = hidden.nonzero()[:, 0]
        ours[first, places[hidden]] = True
        return {
            "id": ids, "nsentences": len(ids), "ntokens": int(lengths.sum()), "targets": targets,
            "net_input": {
                "tokens": whole.masked_fill(ours, 0).clamp(min=0), "lengths": lengths,
                "places": places,
            },
        }  # fmt: skip

    def ordered_indices(self) -> np.ndarray:
        """By length and, with ``shuffle``, at random within a length."""
        indices = np.arange(len(self))
        if self.shuffle:
            with data_utils.numpy_seed(self.seed, self.epoch):
                indices = np.random.permutation(len(self))
        return indices[np.argsort(self.sizes[indices], kind="stable")]
