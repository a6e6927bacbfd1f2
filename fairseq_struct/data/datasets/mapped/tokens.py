"""All numbers of a split, end to end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.mapped.lines import MappedLines
from fairseq_struct.data.datasets.mapped.split_files import SplitFiles


class MappedTokens:
    """The numbers of a split's lines as one sequence, read from the memory map.

    It is pickled without the numbers.

    Args:
        files: of the split; their lines lie end to end.
        less: is subtracted from every number.
    """

    def __init__(self, files: SplitFiles, less: int = 0):
        self.files, self.less = files, less
        last = len(files) - 1
        # Bytes beyond the last line are no part of the split.
        end = files.pointers[last] // files.values.itemsize + files.sizes[last] if len(files) else 0
        self._length = int(end)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, places: int | Tensor) -> Tensor:
        """The 64-bit integers at ``places``, in their shape; places below 0 are refused.

        Raises:
            IndexError: a place is beyond the last number.
        """
        places = np.asarray(places)
        if places.size and not 0 <= places.min() <= places.max() < len(self):
            raise IndexError(f"place {places.max()} of {len(self)}")
        found = np.asarray(self.files.values[places], dtype=np.int64)
        return torch.from_numpy(np.asarray(found - self.less))


def tokens_of(
    lines: Sequence[Tensor], less: int = 0, kind: torch.dtype = torch.int32
) -> MappedTokens | Tensor:
    """All numbers of a split: a view of the memory map, else a copy, (n,).

    Args:
        lines: of the split, as :func:`.open_lines` opens them, at least one.
        less: is subtracted from every number.
        kind: type of the numbers of a copy; those of a view are 64-bit integers.
    """
    if isinstance(lines, MappedLines) and lines.files.end_to_end:
        return MappedTokens(lines.files, less)
    return torch.cat([lines[number].to(kind) for number in range(len(lines))]) - less
