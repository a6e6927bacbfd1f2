"""Two aligned text files as pairs of sentences that are never all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from fairseq_struct.data.readers.parallel_text import Pair, normalise
from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import existing
from fairseq_struct.files.text_lines import lines_of


class AlignedFiles:
    """The pairs of two files, one sentence per line; every iteration reads them again.

    Both are read once to check them, so that a pipe will not do. A file may be compressed:
    ``train.en.gz``, ``.xz`` or ``.zst`` is read where there is no ``train.en``.

    Args:
        source: UTF-8 text, one sentence per line.
        target: the translation, line by line.
        allow_empty: accept blank lines. True for training text, where a filter drops and counts
            them; False for held-out text, where no sentence may disappear.

    Raises:
        InputError: a file is missing, empty or not UTF-8, the line counts differ, or a line is
            blank although ``allow_empty`` is False. In an iteration: a file has other lines than
            when it was checked.
    """

    def __init__(self, source: str | Path, target: str | Path, *, allow_empty: bool = True):
        self.paths = tuple(_existing(Path(path)) for path in (source, target))
        counts, blank = [0, 0], [0, 0]
        for number, pair in enumerate(zip_longest(*map(lines_of, self.paths)), 1):
            for side, line in enumerate(pair):
                if line is None:
                    continue
                counts[side] = number
                if not (allow_empty or blank[side] or normalise(line)):
                    blank[side] = number
        for path, count, first in zip(self.paths, counts, blank, strict=True):
            if not count:
                raise InputError(f"{path}: empty file; expected one sentence per line")
            if first:
                raise InputError(
                    f"{path}:{first}: blank line; validation and test text must be complete"
                )
        if counts[0] != counts[1]:
            first, second = (f"{p} has {n} lines" for p, n in zip(self.paths, counts, strict=True))
            raise InputError(f"not aligned: {first}, {second.removesuffix(' lines')}")
        self._count = counts[0]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pair]:
        number = 0
        for number, pair in enumerate(zip_longest(*map(lines_of, self.paths)), 1):
            if number > self._count or None in pair:
                raise self._changed()
            yield pair
        if number < self._count:
            raise self._changed()

    def _changed(self) -> InputError:
        names = " or ".join(map(str, self.paths))
        return InputError(f"{names} was changed while it was read: it had {self._count} lines")


def _existing(path: Path) -> Path:
    """The file, or a compressed one in its place."""
    path = existing(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: is a pipe or a device; expected a file, to read it again")
    return path
