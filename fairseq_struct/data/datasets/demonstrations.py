"""Demonstrations of tasks in Craft, for imitation."""

from __future__ import annotations

import numpy as np
import torch
from fairseq.data import data_utils
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import (
    RowsByIndex,
    ShuffledEachEpoch,
    SizedSentences,
)
from fairseq_struct.data.generators.craft_demonstrations import DrawnDemonstrations

NONE = -1  # beyond the end of a demonstration


class Demonstrations(RowsByIndex, ShuffledEachEpoch, SizedSentences):
    """A fairseq dataset of demonstrations; in fairseq's terms, a step is a token.

    With ``shuffle``, batches are drawn at random, anew in every epoch. They are not made of similar
    lengths: a batch of near objects only would pull the options in a direction of its own, and they
    come to stand for subtasks less often.

    Args:
        data: the demonstrations.
        shuffle: change their order in every epoch.
        seed: seed of that order.
    """

    def __init__(self, data: DrawnDemonstrations, shuffle: bool = False, seed: int = 1):
        super().__init__()
        self.data, self.sizes = data, np.asarray(data.lengths, np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.shuffle, self.seed = shuffle, seed

    def __len__(self) -> int:
        return len(self.sizes)

    def collater(self, indices) -> dict:
        """The batch of the demonstrations at ``indices``, padded on the right.

        Returns:
            ``net_input`` with ``observations`` (batch, steps, size), 0 in the padding, ``lengths``
            and ``tasks`` (batch,); beside it ``actions`` and ``subtasks`` (batch, steps), -1 in the
            padding, and ``boundaries`` (batch, steps), true at the last step of each subtask. A
            worker that has no batch left gets an empty one.
        """
        if not len(indices):
            return {}
        ids = np.ascontiguousarray(indices, np.int64)
        lengths = self.sizes[ids]
        steps = np.arange(lengths.max())
        real = steps < lengths[:, None]
        rows = np.where(real, self.starts[ids, None] + steps, 0)

        def picked(field: np.ndarray, padding: int, kind: type) -> Tensor:
            values = field[rows].astype(kind)
            values[~real] = padding
            return torch.from_numpy(values)

        data = self.data
        return {
            "id": torch.from_numpy(ids), "nsentences": len(ids), "ntokens": int(lengths.sum()),
            "net_input": {
                "observations": picked(data.observations, 0, np.float32),
                "lengths": torch.from_numpy(lengths),
                "tasks": torch.from_numpy(data.tasks[ids].astype(np.int64)),
            },
            "actions": picked(data.actions, NONE, np.int64),
            "subtasks": picked(data.subtasks, NONE, np.int64),
            "boundaries": picked(data.boundaries, 0, bool),
        }  # fmt: skip

    def ordered_indices(self) -> np.ndarray:
        """At random with ``shuffle``, else by length."""
        if not self.shuffle:
            return np.argsort(self.sizes, kind="stable")
        with data_utils.numpy_seed(self.seed, self.epoch):
            return np.random.permutation(len(self))
