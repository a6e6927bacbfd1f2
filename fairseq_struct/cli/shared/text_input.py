"""The text that verbs for trained models read: standard input, a file, or a folder of files."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.errors import InputError
from fairseq_struct.files import compressed_files
from fairseq_struct.files.text_files import reading
from fairseq_struct.inference.reading import WINDOW
from fairseq_struct.inference.text_lines import read_lines


class Chunk(NamedTuple):
    """Some consecutive lines.

    Attributes:
        part: name of the part of the output that they belong to.
        source: the file; None for standard input.
        first: number of the first line in the file, from 1.
        lines: the lines.
        digest: of all lines of the part, if this chunk is its last one; "" otherwise.
    """

    part: str
    source: Path | None
    first: int
    lines: list[str]
    digest: str


class Part(NamedTuple):
    """Text that becomes one part of the output.

    Attributes:
        name: name of the part.
        chunks: reads its lines; the last chunk has the digest.
    """

    name: str
    chunks: Callable[[], Iterator[Chunk]]


def parts_of(source: Path | None) -> Iterator[Part]:
    """The parts of the input: the files of a folder, or as many lines as tools read at a time.

    Chunks are what tools read at a time from a file, so that batches, and with them the last digits
    of results, are those of one process.

    Args:
        source: a file or a folder; None for standard input.

    Raises:
        InputError: a file cannot be read or is not UTF-8, or the folder holds no files alone.
    """
    if source is not None and source.is_dir():
        for path in files_of(source):
            yield Part(_name_of(path), lambda path=path: _chunks_of_file(path))
        return
    with opened(source) as lines:
        for number, some in enumerate(_divided(lines), 1):
            first, name = (number - 1) * WINDOW + 1, f"part-{number:05}"
            chunk = Chunk(name, source, first, some, _digest(some).hexdigest())
            yield Part(name, lambda chunk=chunk: iter([chunk]))


def files_of(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names, hidden ones left out.

    Raises:
        InputError: the folder holds a folder, or no file, or a file and a compressed one of the
            same name.
    """
    with reading(folder):
        found = sorted(folder / name for name in os.listdir(folder) if not name.startswith("."))
    for path in found:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; the input is a file or a folder of files")
    if not found:
        raise InputError(f"{folder}: holds no file")
    names: dict[str, Path] = {}
    for path in found:
        other = names.setdefault(_name_of(path), path)
        if other != path:
            raise InputError(f"{path}: {other.name} has the same name without its ending")
    return found


@contextmanager
def opened(source: Path | None) -> Iterator[Iterator[str]]:
    """Yield the lines of a file, or of standard input; they can tell whether reading may wait.

    A file whose name ends in .gz, .xz or .zst is decompressed.

    Raises:
        InputError: the file cannot be read or decompressed, or is not UTF-8.
    """
    if source is None:
        yield read_lines(sys.stdin)
        return
    if is_compressed(source):
        with named(source):
            yield _decompressed(source)
        return
    with reading(source):
        file = open(source, encoding="utf-8")  # noqa: SIM115, closed below
    with file, named(source):
        yield read_lines(file)


def is_compressed(path: Path) -> bool:
    """Whether a file is decompressed when it is read."""
    return path.suffix in compressed_files.ENDINGS


def _name_of(path: Path) -> str:
    """Name of a file without the ending of a compressed one."""
    return path.stem if is_compressed(path) else path.name


def _decompressed(path: Path) -> Iterator[str]:
    with compressed_files.opened(path) as file:
        with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as text:
            yield from read_lines(text)


@contextmanager
def named(source: Path | None) -> Iterator[None]:
    """Name the file in errors about its lines.

    Raises:
        InputError: an error inside the block, with the file.
    """
    try:
        yield
    except InputError as error:
        if source is None or not str(error).startswith(("line ", "the input ")):
            raise
        raise InputError(f"{source}: {error}") from None


def _chunks_of_file(path: Path) -> Iterator[Chunk]:
    whole, first = _digest([]), 1
    with opened(path) as lines:
        for some in _divided(lines):
            whole.update(_bytes(some))
            ended = len(some) < WINDOW
            yield Chunk(_name_of(path), path, first, some, whole.hexdigest() if ended else "")
            first += len(some)
    if not ended:
        yield Chunk(_name_of(path), path, first, [], whole.hexdigest())


def _divided(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines in lists of equal length but the last; one empty list if there are none."""
    some = list(islice(lines, WINDOW))
    yield some
    while len(some) == WINDOW and (some := list(islice(lines, WINDOW))):
        yield some


def _digest(lines: list[str]):
    return hashlib.sha256(_bytes(lines))


def _bytes(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
