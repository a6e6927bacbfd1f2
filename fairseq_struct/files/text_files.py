"""Reading text files, with clear errors for unreadable ones."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn read errors inside the block into one error that names the file.

    Raises:
        InputError: the file is missing or cannot be read, for example because it is a folder.
    """
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def files_of(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder by a pattern of their names, sorted; none if there is no such folder.

    Raises:
        InputError: the folder cannot be read. (``Path.glob`` would find it empty.)
    """
    if folder.is_dir():
        with reading(folder):
            os.scandir(folder).close()
    return sorted(folder.glob(pattern))


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, decompressed by its ending, without a byte-order mark.

    Raises:
        InputError: as for :func:`reading`, or it cannot be decompressed, or a line is not UTF-8.
    """
    from fairseq_struct.files.compressed_files import opened  # which imports this file

    with opened(Path(path)) as file:
        content = file.read()
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise not_utf8(path, line, error) from None


def not_utf8(path: str | Path, line: int, error: UnicodeDecodeError) -> InputError:
    """The error for a line that is not UTF-8; for a file of UTF-16 it names the way out.

    Args:
        path: the file.
        line: its number, from 1.
        error: of decoding the file, or the line.
    """
    message = f"{path}:{line}: not UTF-8 text (byte 0x{error.object[error.start]:02x})"
    return InputError(message + (way_out(error.object) if line == 1 else ""))


def way_out(beginning: bytes) -> str:
    """What an error adds for text that begins as UTF-16 does; nothing for other text."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "; it looks like UTF-16, which `iconv -f UTF-16 -t UTF-8` converts"
    return ""


@contextmanager
def json_file(path: str | Path, remedy: str = "prepare the data again") -> Iterator[Any]:
    """The content of a JSON file, for a block that takes from it what it needs.

    Args:
        path: the file.
        remedy: what the message proposes if the file is damaged; "" for nothing.

    Raises:
        InputError: as for :func:`read_text`, the file is no JSON, or the block finds that it lacks
            something or that something is of another kind (``LookupError``, ``TypeError`` or
            ``ValueError``).
    """
    try:
        yield json.loads(read_text(path))
    except InputError:  # a ValueError, which says more
        raise
    except (LookupError, TypeError, ValueError, RecursionError):
        raise InputError(f"{path}: damaged" + (f"; {remedy}" if remedy else "")) from None


def read_lines(path: str | Path) -> list[str]:
    r"""Read a UTF-8 text file as a list of lines, split at ``\n`` only.

    Python's line iteration also splits at a lone carriage return, and ``str.splitlines`` at rare
    Unicode separators. In one side of a parallel corpus, such a split would shift the alignment.

    Args:
        path: the file; a byte-order mark and carriage returns before ``\n`` are removed.

    Raises:
        InputError: as for :func:`read_text`.
    """
    lines = read_text(path).split("\n")
    if lines[-1] == "":  # the text after the final newline is not a line
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    r"""Write UTF-8 text whose lines end in ``\n`` on every system.

    Args:
        path: the file; its folder is there.
        lines: without their ends.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
