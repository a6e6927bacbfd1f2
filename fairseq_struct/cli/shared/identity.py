"""What the output of a verb depends on, so that a folder of parts is of one model and way."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from pathlib import Path
from typing import Any

from fairseq_struct import __version__
from fairseq_struct.files.text_files import reading
from fairseq_struct.inference.export.layout import CONFIG
from fairseq_struct.option_checks import option_name

# Of the command line: where things are and how fast they go, but not what comes out.
NO_MATTER = {
    "checkpoint", "data", "device", "folder", "further", "input", "output", "quiet", "run",
    "user_dir", "workers",
}  # fmt: skip


def identity_of(args: Namespace, verb: str) -> dict[str, Any]:
    """The model by its digest, the options, and whether parts are files or chunks of lines.

    Args:
        args: the command line.
        verb: the name of the verb.

    Raises:
        InputError: the model or its dictionaries cannot be read.
    """
    options = {
        option_name(name): value
        for name, value in vars(args).items()
        if name not in NO_MATTER
    }
    files = args.input is not None and args.input.is_dir()
    return {
        "version": __version__,
        "verb": verb,
        "model": _digest(args.checkpoint, CONFIG),  # which has the digests of the other files
        "dictionary": _digest(args.data, "dict.*txt") if args.data else None,
        "kind of input": "files" if files else "lines",
        **{name: value if _is_plain(value) else str(value) for name, value in options.items()},
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _digest(path: Path, pattern: str) -> str:
    """The SHA-256 of a file, or of the files of a folder with their names."""
    found = hashlib.sha256()
    files = sorted(path.rglob(pattern)) if path.is_dir() else [path]
    for file in files:
        if file.is_file():
            with reading(file), open(file, "rb") as content:
                own = hashlib.file_digest(content, "sha256").digest()
            found.update(str(file.relative_to(path)).encode() + b"\0" + own)
    return found.hexdigest()
