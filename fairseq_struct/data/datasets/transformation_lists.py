"""A fairseq dataset of sentences with the steps that build their trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import RowsByIndex, ShuffledBySize
from fairseq_struct.data.prepared.listed_part import ListedPart

NO_CATEGORY = -1  # beyond the end of a list, or not in the training part


class TransformationLists(RowsByIndex, ShuffledBySize):
    """Sentences and their transformation lists.

    Batches are made by numbers of words; what is averaged over is steps, ``ntokens``.
    With ``shuffle``, a batch holds sentences of similar length, and every epoch has different
    batches.

    Args:
        part: the sentences.
        padding: number that fills sentences.
        shuffle: change the order of the sentences in every epoch.
        seed: seed of that order.
    """

    def __init__(self, part: ListedPart, padding: int, shuffle: bool = False, seed: int = 1):
        super().__init__()
        self.part, self.padding = part, padding
        self.sizes, self.step_counts = part.sizes.astype(np.int64).T
        self.first_words = np.cumsum(self.sizes) - self.sizes
        self.first_steps = np.cumsum(self.step_counts) - self.step_counts
        self.shuffle, self.seed = shuffle, seed

    def __len__(self) -> int:
        return len(self.sizes)

    def collater(self, indices: Sequence[int] | np.ndarray) -> dict:
        """The batch of the sentences at ``indices``, padded on the right.

        Returns:
            ``net_input`` with ``tokens`` (batch, n), ``lengths`` (batch,), ``starts`` and ``ends``
            (batch, steps), the steps' spans over words, 0 in the padding, and ``step_counts``
            (batch,); beside it ``categories`` (batch, steps), -1 in the padding and where the
            training part lacks the category. ``ntokens`` is the number of steps. A worker that has
            no batch left gets an empty one.
        """
        if not len(indices):
            return {}
        ids = np.ascontiguousarray(indices, np.int64)
        lengths, counts = self.sizes[ids], self.step_counts[ids]
        part, steps = self.part, (self.first_steps[ids], counts)
        return {
            "id": torch.from_numpy(ids), "nsentences": len(ids), "ntokens": int(counts.sum()),
            "net_input": {
                "tokens": _rows(part.words, self.first_words[ids], lengths, self.padding),
                "lengths": torch.from_numpy(lengths),
                "starts": _rows(part.spans[:, 0], *steps, 0),
                "ends": _rows(part.spans[:, 1], *steps, 0),
                "step_counts": torch.from_numpy(counts),
            },
            "categories": _rows(part.steps[:, 2], *steps, NO_CATEGORY),
        }  # fmt: skip


def _rows(values: np.ndarray, firsts: np.ndarray, counts: np.ndarray, padding: int) -> Tensor:
    """Rows (batch, largest count) of ``counts`` values each, from ``firsts`` on."""
    places = np.arange(counts.max())
    real = places < counts[:, None]
    found = values[np.where(real, firsts[:, None] + places, 0)].astype(np.int64)
    found[~real] = padding
    return torch.from_numpy(found)
