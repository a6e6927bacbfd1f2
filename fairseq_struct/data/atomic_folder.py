"""A folder that appears complete or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from fairseq_struct.errors import InputError


def require_free(out: Path, mark: str, overwrite: bool, others: Sequence[str] = ()):
    """Make sure that a folder can be written without the loss of anything.

    Args:
        out: the folder.
        mark: a file that folders of its kind have; no others are ever replaced.
        overwrite: replace one of its kind.
        others: what else folders of its kind hold, as patterns; one that holds anything more is
            not replaced either.

    Raises:
        InputError: ``out`` holds something, and is not to be or cannot be replaced.
    """
    if out.is_dir() and any(out.iterdir()):
        if not (out / mark).is_file():
            raise InputError(f"{out}: exists and is no prepared folder; name another")
        foreign = [
            path.name for path in sorted(out.iterdir())
            if not any(fnmatch(path.name, pattern) for pattern in (mark, *others))
        ]  # fmt: skip
        if foreign:
            raise InputError(
                f"{out}: holds {foreign[0]}, which would be lost; name another folder"
            )
        if not overwrite:
            raise InputError(f"{out}: exists; name another folder or replace it (--overwrite)")


@contextmanager
def atomic_folder(out: str | Path) -> Iterator[Path]:
    """Yield a sibling folder that becomes ``out`` if the block succeeds and vanishes if not.

    Args:
        out: where the folder shall appear; what stands there is replaced only at the very end.

    Raises:
        InputError: the folder cannot be made there.
    """
    out = Path(out).absolute()
    if out.is_file():
        raise InputError(f"{out}: is a file, not a folder")
    staging = out.parent / f".{out.name}.{os.getpid()}.partial"
    new_parents = [folder for folder in out.parents if not folder.exists()]
    try:
        staging.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    try:
        yield staging
        _replace(staging, out)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        for folder in new_parents:  # the innermost comes first
            with suppress(OSError):  # somebody else has put something there by now
                folder.rmdir()
        raise


def _replace(new: Path, out: Path) -> None:
    if not out.exists() or not any(out.iterdir()):
        os.replace(new, out)
        return
    # A folder cannot replace a full one in one step: the old one steps aside first.
    old = new.with_suffix(".old")
    os.replace(out, old)
    try:
        os.replace(new, out)
    except OSError:
        os.replace(old, out)
        raise
    shutil.rmtree(old)
