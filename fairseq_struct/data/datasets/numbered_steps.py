"""A fairseq dataset of numbers, for tasks that make their data themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from fairseq.data import FairseqDataset


class NumberedSteps(FairseqDataset):
    """The numbers 0 to ``count - 1``, in order.

    Args:
        count: how many.
        together: numbers in a batch; None for fairseq's ``--batch-size``.
    """

    def __init__(self, count: int, together: int | None = None):
        self.count, self.together = count, together

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index

    def collater(self, items: Sequence[int]) -> dict:
        """A batch: its numbers, as ``id``."""
        if not len(items):
            return {}
        return {"id": torch.tensor(items), "nsentences": len(items), "ntokens": len(items)}

    def num_tokens(self, index: int) -> int:
        """Always 1."""
        return 1

    def size(self, index: int) -> int:
        """Always 1."""
        return 1

    def ordered_indices(self) -> np.ndarray:
        """All numbers, in order."""
        return np.arange(self.count)

    def batch_by_size(
        self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1
    ):
        """Batches of ``together`` numbers; ``required_batch_size_multiple`` is ignored."""
        return super().batch_by_size(indices, None, self.together or max_sentences, 1)
