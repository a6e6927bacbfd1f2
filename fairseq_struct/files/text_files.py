"""Text files, and what to say of one that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairseq_struct.errors import InputError


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Around reading a file in any way: what fails becomes one error that names it.

    Raises:
        InputError: the file is missing or cannot be read, as a folder.
    """
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, without a byte-order mark.

    Raises:
        InputError: as for :func:`reading`, or a line is not UTF-8.
    """
    with reading(path):
        content = Path(path).read_bytes()
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: not UTF-8 text (byte 0x{content[error.start]:02x})"
        ) from None


def read_lines(path: str | Path) -> list[str]:
    r"""Read a UTF-8 text file as a list of lines, split at ``\n`` only.

    Python's own line iteration also breaks at a lone carriage return, and ``str.splitlines`` at
    exotic separators; inside one half of a parallel corpus either would shift the alignment.

    Args:
        path: the file; a byte-order mark and carriage returns before ``\n`` are removed.

    Raises:
        InputError: as for :func:`read_text`.
    """
    lines = read_text(path).split("\n")
    if lines[-1] == "":  # what follows the final newline is not a line
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
