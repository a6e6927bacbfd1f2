"""Tensors of varying sizes that share the memory of one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor


class PackedTensors(Sequence):
    """A sequence of tensors of 64-bit integers, with no Python object for each of them.

    Args:
        rows: the tensors, of integers below 2^31 and of the same number of dimensions, at least 1.

    Attributes:
        sizes: (rows,) first size of each tensor.
    """

    def __init__(self, rows: Iterable[Tensor]):
        values, shapes, dimensions = array("i"), array("i"), 1
        for row in rows:
            values.extend(row.flatten().tolist())
            shapes.extend(row.shape)
            dimensions = row.dim()
        shapes = np.array(shapes, dtype=np.int32).reshape(-1, dimensions)
        ends = np.cumsum(shapes.prod(1, dtype=np.int64))
        # Tensors, because those are in memory that processes share.
        self._shapes = torch.from_numpy(shapes)
        self._values = torch.from_numpy(np.array(values, dtype=np.int32))
        self._ends = torch.from_numpy(ends)

    @property
    def sizes(self) -> np.ndarray:
        """First size of each tensor, (rows,)."""
        return self._shapes[:, 0].numpy()

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, number: int) -> Tensor:
        if not 0 <= number < len(self):
            raise IndexError(f"tensor {number} of {len(self)}")
        first = int(self._ends[number - 1]) if number else 0
        own = self._values[first : int(self._ends[number])]
        return own.long().view(self._shapes[number].tolist())


class PickedTensors(Sequence):
    """Some of several tensors, or None, at each place.

    Args:
        tensors: to pick from.
        picks: the number of the tensor at each place; -1 for None.
    """

    def __init__(self, tensors: Sequence[Tensor], picks: Iterable[int]):
        self.tensors = tensors
        self.picks = torch.from_numpy(np.fromiter(picks, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.picks)

    def __getitem__(self, place: int) -> Tensor | None:
        if not 0 <= place < len(self):
            raise IndexError(f"place {place} of {len(self)}")
        pick = int(self.picks[place])
        return self.tensors[pick] if pick >= 0 else None
