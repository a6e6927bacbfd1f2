"""Lines of text that are never all in memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from fairseq_struct.errors import InputError
from fairseq_struct.files.compressed_files import existing, opened
from fairseq_struct.files.text_files import not_utf8

STANDARD_INPUT = "-"


class TextLines:
    """The lines of a file, or of standard input; every iteration reads them again.

    Standard input is kept in a file without a name, so that nothing of it is left over.

    Args:
        path: the file, possibly compressed, or one that stands there with the ending of a
            compressed one; ``-`` for standard input.

    Raises:
        InputError: it is missing, a folder, a pipe or a device. In an iteration: as for
            :func:`lines_of`, or standard input cannot be kept.
    """

    def __init__(self, path: str | Path):
        self._standard = str(path) == STANDARD_INPUT
        self.name = "standard input" if self._standard else str(existing(Path(path)))
        if not self._standard:
            self._check(Path(self.name))

    @staticmethod
    def _check(path: Path) -> None:
        if not path.exists():
            raise InputError(f"{path}: no such file")
        if path.is_dir():
            raise InputError(f"{path}: is a folder, not a file")
        if not path.is_file():
            raise InputError(
                f"{path}: is a pipe or a device; expected a file, to read it again, or - for "
                "standard input"
            )

    def __iter__(self) -> Iterator[str]:
        if not self._standard:
            yield from lines_of(Path(self.name))
            return
        self._kept.seek(0)
        yield from _decoded(self._kept, self.name)

    @cached_property
    def _kept(self) -> BinaryIO:
        folder = tempfile.gettempdir()
        try:
            file = tempfile.TemporaryFile(dir=folder)
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
            file.flush()
        except OSError as error:
            raise InputError(
                f"standard input cannot be kept in {folder} ({error.strerror or error}); TMPDIR "
                "chooses another folder"
            ) from None
        return file


def lines_of(path: Path) -> Iterator[str]:
    r"""The lines of a UTF-8 file, split at ``\n`` only, without a byte-order mark.

    See :func:`~fairseq_struct.files.text_files.read_lines`, which reads all of them at once.

    Args:
        path: the file, decompressed if its name says so.

    Raises:
        InputError: the file cannot be read, or a line is not UTF-8.
        DependencyError: as for :func:`~fairseq_struct.files.compressed_files.opened`.
    """
    with opened(path) as file:
        yield from _decoded(file, str(path))


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, error) from None
        yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\r")
