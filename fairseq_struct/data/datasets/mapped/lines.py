"""The lines of a split that lies in memory-mapped files, as a sequence of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.mapped.split_files import SplitFiles


class MappedLines(Sequence):
    """Lines that are made tensors (n,) of 64-bit integers when they are asked for.

    It is pickled without the lines.

    Args:
        files: of the split.
        shorter: whether the last number of each line is left out: (lines,) booleans, or one.
        longest: most numbers of a line, whose further ones are left out; None for any number.

    Attributes:
        sizes: (lines,) numbers of each line, after both.
    """

    def __init__(
        self, files: SplitFiles, shorter: np.ndarray | bool = False, longest: int | None = None
    ):
        self.files, self.shorter, self.longest = files, shorter, longest
        self.sizes = files.sizes
        if np.any(shorter):
            self.sizes = self.sizes - np.asarray(shorter, dtype=np.int32)
        if longest is not None:
            self.sizes = np.minimum(self.sizes, np.int32(longest))

    def without_end(self, symbol: int) -> MappedLines:
        """The lines without the symbol, where it is the last of a line."""
        ends = self.files.ends_with(symbol)
        return MappedLines(self.files, True if ends.all() else ends, self.longest)

    def cut(self, longest: int) -> MappedLines:
        """The first ``longest`` numbers of each line."""
        return MappedLines(self.files, self.shorter, longest)

    def first_of_each_size(self) -> Iterator[tuple[int, int]]:
        """Yield the number of the first line of each size, from 0, and the size, in text order."""
        sizes, firsts = np.unique(self.sizes, return_index=True)
        for place in np.argsort(firsts):
            yield int(firsts[place]), int(sizes[place])

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, number: int) -> Tensor:
        if not 0 <= number < len(self):
            raise IndexError(f"line {number} of {len(self)}")
        line = self.files.line(number, int(self.sizes[number]))
        return torch.from_numpy(line.astype(np.int64))

    def __reduce__(self):
        return MappedLines, (self.files, self.shorter, self.longest)
