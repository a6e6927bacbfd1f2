"""The two files of a split in fairseq's format ``mmap``, mapped into memory."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from fairseq.data.indexed_dataset import MMapIndexedDataset, _code_to_dtype

# What the index begins with: fairseq's name of the format, version, number type, lines.
_HEAD = struct.Struct("<9sQBQ")
_VERSION = 1
# Lines that are looked at together, so that memory does not depend on their number.
_LINES = 1 << 16


class SplitFiles:
    """The numbers of a split, and where its lines begin.

    fairseq's own reader reads both files whole before it maps them; this one reads what it is
    asked for. It is pickled as its path.

    Args:
        path: the split's two files, without their suffixes.

    Attributes:
        values: (numbers,) those of all lines, in the type of the file.
        sizes: (lines,) numbers of each line.
        pointers: (lines,) bytes before each line.
        end_to_end: whether the lines follow one another without gaps, from the first number on;
            fairseq writes no other files.

    Raises:
        ValueError: the files are damaged or truncated.
        OSError: they cannot be read.
    """

    def __init__(self, path: str | Path):
        self.path = str(path)
        self._map()
        self.end_to_end = self._check()

    def _map(self):
        index = _mapped(f"{self.path}.idx")
        if len(index) < _HEAD.size:
            raise ValueError("the index has no head")
        name, version, code, lines = _HEAD.unpack(index[: _HEAD.size].tobytes())
        if name != MMapIndexedDataset.Index._HDR_MAGIC or version != _VERSION:
            raise ValueError("the index has another format than mmap")
        if code not in _code_to_dtype:
            raise ValueError(f"the index names an unknown type of numbers, {code}")
        pointers = _HEAD.size + 4 * lines
        if len(index) < pointers + 8 * lines:
            raise ValueError(f"the index is too short for {lines} lines")
        self.sizes = index[_HEAD.size : pointers].view(np.int32)
        self.pointers = index[pointers : pointers + 8 * lines].view(np.int64)
        content, kind = _mapped(f"{self.path}.bin"), np.dtype(_code_to_dtype[code])
        self.values = content[: len(content) // kind.itemsize * kind.itemsize].view(kind)

    def _check(self) -> bool:
        """Whether the lines lie end to end; refuses lines that are not in the file."""
        end_to_end, expected, width = True, 0, self.values.itemsize
        for first in range(0, len(self), _LINES):
            sizes = self.sizes[first : first + _LINES].astype(np.int64)
            begins = self.pointers[first : first + _LINES]
            ends = begins + sizes * width
            if sizes.min() < 0 or begins.min() < 0 or (begins % width).any():
                raise ValueError("the index has a line that cannot be")
            if ends.max() > self.values.nbytes:
                raise ValueError(f"the lines of the index have {ends.max()} bytes or more")
            end_to_end &= begins[0] == expected and bool((begins[1:] == ends[:-1]).all())
            expected = ends[-1]
        return bool(end_to_end)

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.sizes)

    def line(self, number: int, size: int) -> np.ndarray:
        """The first ``size`` numbers of a line, (size,)."""
        first = int(self.pointers[number]) // self.values.itemsize
        return self.values[first : first + size]

    def ends_with(self, symbol: int) -> np.ndarray:
        """Which lines end with a symbol, (lines,) booleans; the map does not grow by it."""
        found = np.zeros(len(self), dtype=bool)
        for first in range(0, len(self), _LINES):
            part = slice(first, first + _LINES)
            last = self.pointers[part] // self.values.itemsize + self.sizes[part] - 1
            full = self.sizes[part] > 0
            if not full.any():
                continue
            least, most = int(last[full].min()), int(last[full].max())
            # Read, not looked up in the map: pages of the map that were seen count as memory.
            near = most - least < 1024 * _LINES
            values = self._read(least, most + 1) if near else self.values[least:]
            found[part][full] = values[last[full] - least] == symbol
        return found

    def _read(self, first: int, end: int) -> np.ndarray:
        kind = self.values.dtype
        return np.fromfile(f"{self.path}.bin", kind, end - first, offset=first * kind.itemsize)

    def __getstate__(self) -> dict:
        return {"path": self.path, "end_to_end": self.end_to_end}

    def __setstate__(self, state: dict):
        self.__dict__.update(state)
        self._map()


def _mapped(path: str) -> np.ndarray:
    """The bytes of a file, mapped into memory; an empty file cannot be."""
    if not Path(path).stat().st_size:
        return np.zeros(0, dtype=np.uint8)
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
