"""Aligned text as pairs of sentences that are never all in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from fairseq_struct.data.readers.parallel_text import Pair, normalise
from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import existing
from fairseq_struct.files.text_lines import STANDARD_INPUT, TextLines, lines_of

_BLANK = "blank line; validation and test text must be complete"


class AlignedFiles:
    """The pairs of two files, one sentence per line; every iteration reads them again.

    Both are read once to check them, so that a pipe will not do. A file may be compressed:
    ``train.en.gz``, ``.xz`` or ``.zst`` is read where there is no ``train.en``.

    Args:
        source: UTF-8 text, one sentence per line.
        target: the translation, line by line.
        allow_empty: accept blank lines. True for training text, where a filter drops and counts
            them; False for held-out text, where no sentence may disappear.

    Attributes:
        paths: the two files.
        sha256: digest of the lines, the two of each pair after one another.

    Raises:
        InputError: a file is missing, empty or not UTF-8, the line counts differ, or a line is
            blank although ``allow_empty`` is False. In an iteration: a file has other lines than
            when it was checked.
    """

    def __init__(self, source: str | Path, target: str | Path, *, allow_empty: bool = True):
        self.paths = tuple(_existing(Path(path)) for path in (source, target))
        counts, blank, found = [0, 0], [0, 0], hashlib.sha256()
        for number, pair in enumerate(zip_longest(*map(lines_of, self.paths)), 1):
            found.update(_bytes_of(pair))
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
                raise InputError(f"{path}:{first}: {_BLANK}")
        if counts[0] != counts[1]:
            first, second = (f"{p} has {n} lines" for p, n in zip(self.paths, counts, strict=True))
            raise InputError(f"not aligned: {first}, {second.removesuffix(' lines')}")
        self._count, self.sha256 = counts[0], found.hexdigest()

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


class TabbedPairs:
    """Pairs of one text: the source, a tab, and the target in every line.

    It is read once to check it, and again in every iteration.

    Args:
        lines: the text.
        allow_empty: accept sentences that are blank, as :class:`AlignedFiles` does.

    Attributes:
        paths: the name of the text, twice.
        sha256: as of :class:`AlignedFiles`.

    Raises:
        InputError: there is no line, or one that is not UTF-8, has no tab, has several, or has a
            blank sentence although ``allow_empty`` is False. In an iteration: the file has other
            lines than when it was checked.
    """

    def __init__(self, lines: TextLines, *, allow_empty: bool = True):
        self.paths = (lines.name, lines.name)
        self._lines, self._count, found = lines, 0, hashlib.sha256()
        for number, line in enumerate(lines, 1):
            pair = line.split("\t")
            if len(pair) != 2:
                raise InputError(
                    f"{lines.name}:{number}: expected a sentence, a tab and its translation"
                )
            if not (allow_empty or all(map(normalise, pair))):
                raise InputError(f"{lines.name}:{number}: {_BLANK}")
            self._count = number
            found.update(_bytes_of(pair))
        if not self._count:
            raise InputError(f"{lines.name}: is empty; expected a pair of sentences per line")
        self.sha256 = found.hexdigest()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pair]:
        number = 0
        for number, line in enumerate(self._lines, 1):
            source, tab, target = line.partition("\t")
            if number > self._count or not tab:
                raise self._changed()
            yield source, target
        if number < self._count:
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError(f"{self._lines.name} was changed while it was read")


def read_split(
    prefix: Path, split: str, source_lang: str, target_lang: str
) -> AlignedFiles | TabbedPairs:
    """The pairs of ``PREFIX.LANG``, or of standard input.

    Args:
        prefix: path without the language suffix; ``-`` is standard input.
        split: name of the split; only that of ``train`` may have blank lines.
        source_lang: suffix of the source side.
        target_lang: suffix of the target side.

    Raises:
        InputError: as for :class:`AlignedFiles` or :class:`TabbedPairs`.
    """
    if str(prefix) == STANDARD_INPUT:
        return TabbedPairs(TextLines(prefix), allow_empty=split == "train")
    paths = (Path(f"{prefix}.{lang}") for lang in (source_lang, target_lang))
    return AlignedFiles(*paths, allow_empty=split == "train")


def _bytes_of(pair: Sequence[str | None]) -> bytes:
    return f"{pair[0]}\n{pair[1]}\n".encode()


def _existing(path: Path) -> Path:
    """The file, or a compressed one in its place."""
    path = existing(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: is a pipe or a device; expected a file, to read it again")
    return path
