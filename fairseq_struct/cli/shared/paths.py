"""Checks that the paths of a command can be read or written, before heavy packages are imported."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.checkpoint_names import ANY


def require(
    files: Iterable[str | Path | None] = (),
    folders: Iterable[str | Path | None] = (),
    either: Iterable[str | Path | None] = (),
    models: Iterable[str | Path | None] = (),
):
    """Check that paths exist; None stands for an option that is not given.

    Args:
        files, folders: paths of files, and of folders.
        either: paths of files or folders.
        models: paths of checkpoints or of exported models.

    Raises:
        InputError: a path does not exist or is of the wrong kind; the message names the first one.
    """
    for path in filter(None, either):
        if not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for path in filter(None, models):
        if Path(path).is_dir() and not (Path(path) / "config.json").is_file():
            held = sorted(name for name in os.listdir(path) if ANY.fullmatch(name))
            told = f"; it holds {', '.join(held[-3:])}" if held else ""
            raise InputError(
                f"{path}: is a folder, not a file, and no exported model either{told}"
            )
        if not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for path in filter(None, files):
        if Path(path).is_dir():
            raise InputError(f"{path}: is a folder, not a file")
        if not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for path in filter(None, folders):
        if not Path(path).is_dir():
            what = "is a file, not a folder" if Path(path).exists() else "no such folder"
            raise InputError(f"{path}: {what}")


def require_room(*paths: Path | None, inputs: Iterable[str | Path | None] = ()):
    """Check that files can be written at paths; None stands for an option that is not given.

    Args:
        paths: where files will be written.
        inputs: what the command reads, and must not overwrite.

    Raises:
        InputError: a path is a folder, or its folder does not exist or cannot be written; or it is
            a file that is read, too, or named twice.
    """
    read = {os.path.realpath(path) for path in filter(None, inputs)}
    write: set[str] = set()
    for path in filter(None, paths):
        if path.is_dir():
            raise InputError(f"{path}: is a folder, not a file to write")
        require(folders=[path.parent])
        # A device or a pipe is written in place, a file by a new one beside it.
        real = Path(os.path.realpath(path))
        place = real if real.exists() and not real.is_file() else real.parent
        if not os.access(place, os.W_OK):
            raise InputError(f"{path}: cannot be written (Permission denied)")
        if real == place:  # neither a file nor to become one
            continue
        if str(real) in read:
            raise InputError(f"{path}: is read, too; name another file to write")
        if str(real) in write:
            raise InputError(f"{path}: is to be written twice; name two files")
        write.add(str(real))


def require_ending(path: Path | None, option: str, endings: Sequence[str]):
    """Check the ending of the file that an option names; None stands for one that is not given.

    Args:
        path: the file to write.
        option: its flag, for the message.
        endings: in lower case, with their dots.

    Raises:
        InputError: the file has another ending.
    """
    if path is not None and path.suffix.lower() not in endings:
        raise InputError(f"{path}: {option} ends in {', '.join(endings)}")


def require_or_one_of(path: str | Path, names: Iterable[str]):
    """Check that an argument is an existing file or folder, or one of the names.

    Raises:
        InputError: it is neither; the message suggests a similar name.
    """
    names = list(names)
    if str(path) in names or Path(path).exists():
        return
    raise InputError(f"{path}: no such file{suggestion(path, names)}")
