"""A folder that appears complete or not at all, also with several writing processes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairseq_struct.data.prepared.manifest import foreign_files, own_files, remove_files
from fairseq_struct.errors import OF_STREAMS, InputError, Interrupted
from fairseq_struct.files.new_folders import missing_folders, remove_empty

# Names of a folder's own files; the last one lists the others. None: it is a folder of others.
OwnFiles = Callable[[Path], list[str] | None]


@contextmanager
def staging_folder(
    out: Path, say: Callable[[str], None], own_of: OwnFiles = own_files,
    goes_on: Callable[[Path], bool] = lambda staging: False,
) -> Iterator[Path]:  # fmt: skip
    """Yield a folder ``.OUT.partial`` beside ``out``, for this process alone.

    Another process that wants to write ``out`` waits for this one. Files left by a killed process
    are removed, unless the work goes on with them; otherwise the folder is empty. The kernel
    releases the lock of a killed process, so this needs no process numbers. The staging folder is
    removed after the block, unless it has replaced ``out`` (:func:`take_place`), or the work was
    interrupted and can go on.

    Args:
        out: the folder to write, without symbolic links.
        say: called with a message before waiting.
        own_of: tells the own files of such a folder; by default from its manifest.
        goes_on: tells whether this work can go on with what is in a staging folder.

    Raises:
        InputError: nothing can be written beside ``out``, one of its folders is a file, or the disk
            is full.
    """
    staging, old = (out.with_name(f".{out.name}.{state}") for state in ("partial", "old"))
    new_parents = missing_folders(out.parent)
    above = out.parents[len(new_parents)]
    if not above.is_dir():
        raise InputError(f"{above}: is a file, not a folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with _lock(out, say):
            _restore(old, out, own_of)
            if not goes_on(staging):
                shutil.rmtree(staging, ignore_errors=True)
                staging.mkdir()
            try:
                yield staging
            except BaseException as error:
                if not (_from_outside(error) and goes_on(staging)):
                    shutil.rmtree(staging, ignore_errors=True)
                raise
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        ours = {out.parent, *new_parents, staging, _lock_of(out)}
        of_ours = error.filename is not None and Path(os.fsdecode(error.filename)) in ours
        if not of_ours and error.errno not in OF_STREAMS:
            raise
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        remove_empty(new_parents)


def _from_outside(error: BaseException) -> bool:
    """Whether an error may be gone when the same command is given again, such as Ctrl-C."""
    passing = isinstance(error, Interrupted | OSError | MemoryError)
    return passing or not isinstance(error, Exception)


def require_replaceable(folder: Path) -> None:
    """Check that another folder can take the place of a folder, which need not exist.

    Raises:
        InputError: it is a file, a mount point, or the working folder or one above it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder")
    if os.path.ismount(folder):
        raise InputError(
            f"{folder}: is a mount point, which cannot be replaced; name a folder in it"
        )
    current = _current_folder()
    if current is not None and current.is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"{folder}: is or holds the current folder, which cannot be replaced; name another one"
        )


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed
        return None


def take_place(new: Path, out: Path, own_of: OwnFiles = own_files) -> None:
    """Replace ``out`` by a staging folder; only files that ``out`` lists as its own are removed.

    Args:
        new: the folder of :func:`staging_folder`.
        out: a path that does not exist, an empty folder, or a prepared one.
        own_of: as for :func:`staging_folder`.

    Raises:
        InputError: a foreign file is in the old folder; nothing is changed then.
    """
    if not out.exists() or not any(out.iterdir()):
        os.replace(new, out)
        return
    # A folder cannot replace a non-empty one in one step: the old one is renamed first.
    old = out.with_name(f".{out.name}.old")
    os.replace(out, old)
    try:
        own = own_of(old) or []
        require_own(old, own, out)
        os.replace(new, out)
    except BaseException:
        os.replace(old, out)
        raise
    remove_files(old, own)


def require_own(folder: Path, own: Collection[str], called: Path) -> None:
    """Check that a folder holds only its own files.

    Args:
        folder: the folder to check.
        own: names of its own files.
        called: path of the folder in the message.

    Raises:
        InputError: the folder holds another file; the message names it.
    """
    foreign = foreign_files(folder, own)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise InputError(
            f"{called}: holds {foreign[0]}{more}, which would be lost; move it away or name"
            " another folder"
        )


def _lock_of(out: Path) -> Path:
    return out.with_name(f".{out.name}.lock")


@contextmanager
def _lock(out: Path, say: Callable[[str], None]) -> Iterator[None]:
    path = _lock_of(out)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that writes {out}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            break
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                break
        os.close(handle)  # the previous holder removed the file before releasing the lock
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _restore(old: Path, out: Path, own_of: OwnFiles) -> None:
    """Finish the replacement of a folder after a process was killed during it."""
    own = own_of(old)
    if own is None:
        with suppress(OSError):  # the folder does not exist, or has foreign files
            old.rmdir()
    elif out.exists():
        remove_files(old, own)
    else:
        os.replace(old, out)
    if os.path.lexists(old):
        raise InputError(f"{old}: is in the way, and not all of it was prepared; move it away")
