"""Are the files there that a command is to read? Asked before heavy packages are imported."""

from collections.abc import Iterable
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion


def require(
    files: Iterable[str | Path | None] = (),
    folders: Iterable[str | Path | None] = (),
    either: Iterable[str | Path | None] = (),
):
    """Complain about the first path that does not exist; None stands for an option not given.

    Args:
        files, folders: what have to be such.
        either: what may be a file or a folder.

    Raises:
        InputError: with the path.
    """
    for path in filter(None, either):
        if not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for path in filter(None, files):
        if Path(path).is_dir():
            raise InputError(f"{path}: is a folder, not a file")
        if not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for path in filter(None, folders):
        if not Path(path).is_dir():
            raise InputError(f"{path}: no such folder")


def require_room(*paths: Path | None):
    """Complain about the first path at which no file can be written; None is an option not given.

    Raises:
        InputError: it is a folder, or in one that is not there.
    """
    for path in filter(None, paths):
        if path.is_dir():
            raise InputError(f"{path}: is a folder, not a file to write")
        if not path.absolute().parent.is_dir():
            raise InputError(f"{path.parent}: no such folder")


def require_or_one_of(path: str | Path, names: Iterable[str]):
    """As :func:`require` for a file or a folder, where a name may stand in its place.

    Raises:
        InputError: with the path, and the name that was perhaps meant.
    """
    names = list(names)
    if str(path) in names or Path(path).exists():
        return
    raise InputError(f"{path}: no such file{suggestion(path, names)}")
