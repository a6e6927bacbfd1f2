"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import fcntl
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fairseq_struct.errors import InputError


@contextmanager
def whole_file(path: str | Path, through_link: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write; it replaces ``path`` when the block succeeds.

    The bytes go to ``PATH.tmp`` in the same folder and are flushed to disk. Only then the file is
    renamed, in one atomic step. So a reader sees either the old file or the new file, even if the
    writer is killed. The next writer replaces the ``PATH.tmp`` of a killed writer; while another
    one is at work on it, its own file has a name of its own, and who ends last wins. A device or a
    pipe is written directly. The new file has the permissions of the old one, if there is one.

    Args:
        path: the file to write.
        through_link: keep a symbolic link and write the file that it points to; otherwise the file
            replaces the link.

    Raises:
        InputError: the file cannot be written, for example because the disk is full; the old file
            is unchanged.
        KeyboardInterrupt: Ctrl-C, also where torch has made another error of it.
    """
    path = Path(path)
    mode = temporary = None
    with _telling(path):
        if path.exists() and not path.is_file():  # opening a folder fails
            file = _opened(path, "w", path)
        else:
            place = Path(os.path.realpath(path)) if through_link else path
            if place.exists() and not place.is_symlink():
                mode = place.stat().st_mode
            temporary, file = _begun(place, path)
    if temporary is None:
        with file, _unwrapping():
            yield file
        return
    with file:  # locked until the end
        try:
            if mode is not None:
                with suppress(OSError):  # a file system without permissions
                    os.fchmod(file.fileno(), stat.S_IMODE(mode))
            with _unwrapping():
                yield file
            file.flush()
            with _telling(path):
                os.fsync(file.fileno())
                os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


class _Told(io.FileIO):
    """A file whose writing fails with an error that names the file, as no other error does.

    What else happens while it is open, such as printing to a closed pipe, is not its error.
    """

    path: Path

    def write(self, data) -> int:
        with _telling(self.path):
            return super().write(data)


def _opened(place: Path, mode: str, path: Path) -> BinaryIO:
    file = _Told(place, mode)
    file.path = path
    return io.BufferedWriter(file)


def _begun(place: Path, path: Path) -> tuple[Path, BinaryIO]:
    """A new file, locked: ``PATH.tmp``, unless another writer is at work on it."""
    temporary = place.with_name(f"{place.name}.tmp")
    while True:
        with suppress(FileExistsError):
            file = _opened(temporary, "x", path)  # the caller closes it
            if _lock(file) and _is_still(file, temporary):
                return temporary, file
            file.close()  # another writer took it for that of a killed one
            continue
        if not _removed(temporary):
            temporary = place.with_name(f"{place.name}.{secrets.token_hex(4)}.tmp")


def _removed(temporary: Path) -> bool:
    """Remove what a killed writer has left; False if its writer is at work."""
    with suppress(FileNotFoundError):
        try:
            with open(temporary, "rb") as left:
                if not _lock(left):
                    return False
                if _is_still(left, temporary):
                    temporary.unlink()
        except PermissionError:
            temporary.unlink()
    return True


def _lock(file: BinaryIO) -> bool:
    """Whether no other writer has the lock; always, on a file system without locks."""
    with suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_still(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The chain is cut: errors that follow a failed write add no information.
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


@contextmanager
def _unwrapping() -> Iterator[None]:
    """Tell what stopped a write, a full disk or Ctrl-C; torch raises its own error on top of it."""
    try:
        yield
    except RuntimeError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, InputError | KeyboardInterrupt):
            raise cause from None
        raise
