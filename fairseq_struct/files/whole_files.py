"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fairseq_struct.errors import InputError


@contextmanager
def whole_file(path: str | Path, through_link: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write, which takes the place of ``path`` when the block has succeeded.

    The bytes go to ``PATH.tmp`` beside it, are sent to the disk, and only then the file is renamed,
    which happens in one step. So a reader sees the old file or the new one, whenever the writer is
    killed; what a killed writer leaves of ``PATH.tmp`` the next one overwrites. A device or a pipe
    is written as it is.

    Args:
        path: where the file shall appear.
        through_link: a symbolic link stays, and the file appears where it leads to; else the file
            takes the place of the link.

    Raises:
        InputError: the file cannot be written, because the disk is full, say; what stood there is
            as it was.
    """
    path = Path(path)
    with _telling(path):
        if path.exists() and not path.is_file():  # opening a folder fails
            with open(path, "wb") as file:
                yield file
            return
        place = Path(os.path.realpath(path)) if through_link else path
        temporary = place.with_name(f"{place.name}.tmp")
        try:
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        cause = _of_the_disk(error)
        if cause is None:
            raise
        # The chain is cut, because what follows a failed write says nothing more.
        raise InputError(f"{path}: cannot be written ({cause.strerror or cause})") from None


def _of_the_disk(error: BaseException) -> OSError | None:
    """The refusal of a write behind an error; torch puts one of its own on top."""
    if isinstance(error, RuntimeError):
        error = error.__cause__ or error.__context__ or error
    return error if isinstance(error, OSError) else None
