"""``config.json`` of an exported model: what it holds, and the checks of the whole folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text, reading
from fairseq_struct.inference.export.layout import (
    CARD,
    CONFIG,
    DATA,
    ENCODER,
    EXPORT,
    FORMAT,
    NUMBER,
    WEIGHTS,
)

CHECKSUM, FILES = "sha256", "files"
# Entries of the file, and their types.
ENTRIES = {
    "architecture": str, "task": dict, "model": dict, "model_options": str, "tied": dict,
    "training": dict, "versions": dict, FILES: dict,
}  # fmt: skip


def write_config(
    folder: Path, content: Mapping[str, Any], name: str = CONFIG, format: str = FORMAT
) -> dict[str, Any]:
    """Write and return ``content`` with sizes and SHA-256 of all files but the model card.

    Args:
        folder: of the export, whose other files are complete.
        content: further entries.
        name: of the file; exports for other libraries have their own ``config.json``.
        format: name of the format.
    """
    files = {}
    for other in sorted(_names(folder)):
        if other not in (CARD, name):
            path = folder / other
            files[other] = {"size": path.stat().st_size, CHECKSUM: _digest_of(path)}
    entries = {"format": format, "format_number": NUMBER, **content, FILES: files}
    entries[CHECKSUM] = _own_digest(entries)
    text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    (folder / name).write_text(text, encoding="utf-8")
    return entries


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json``, and check every file of the folder against it.

    Only what :mod:`.layout` names is ever read. The model card is the user's, and not checked.

    Raises:
        InputError: the folder is no export, or one of a newer version; a file is missing or was
            changed; or there is a file that is not listed.
    """
    config = read_entries(folder)
    for name, kind in ENTRIES.items():
        if not isinstance(config.get(name), kind):
            raise InputError(f"{folder / CONFIG}: damaged: {name!r} is missing or of another kind")
    listed = config[FILES]
    if WEIGHTS not in listed:
        raise InputError(f"{folder / CONFIG}: damaged: it does not list {WEIGHTS}")
    for name, known in listed.items():
        _check_file(folder, name, known)
    for name in sorted(_names(folder)):
        if PurePosixPath(name).parts[0] in (DATA, ENCODER) and name not in listed:
            raise InputError(f"{folder / name}: does not belong to the exported model; remove it")
    return config


def read_entries(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` without looking at the other files.

    Raises:
        InputError: the folder is no export, one of a newer version, or the file was changed.
    """
    path = folder / CONFIG
    if not path.is_file():
        checkpoints = (folder / f"checkpoint_{name}.pt" for name in ("best", "last"))
        meant = next((f"; did you mean {one}?" for one in checkpoints if one.is_file()), "")
        raise InputError(f"{folder}: is no exported model: it has no {CONFIG}{meant}")
    try:
        config = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged: not JSON") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        kind = config.get("model_type") if isinstance(config, dict) else None
        of = f" but a {kind} of Hugging Face's transformers" if isinstance(kind, str) else ""
        raise InputError(f"{folder}: is no exported model of fairseq-struct{of}")
    number = config.get("format_number")
    if not isinstance(number, int) or number < 1:
        raise InputError(f"{path}: damaged: its format has no number")
    if number > NUMBER:
        raise InputError(
            f"{path}: of format {number}, but this version of fairseq-struct reads formats up to "
            f"{NUMBER}; a newer version is needed"
        )
    if config.get(CHECKSUM) != _own_digest(config):
        raise InputError(f"{path}: was changed since the model was exported")
    return config


def own_files(folder: Path) -> list[str] | None:
    """Names of an export's files, in any format, the one that lists them last; None for others."""
    for name in (EXPORT, CONFIG):
        try:
            found = json.loads(read_text(folder / name))
            listed, own = found[FILES], found[CHECKSUM] == _own_digest(found)
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if own and isinstance(listed, dict) and all(map(_is_inside, listed)):
            return [*listed, CARD, name]
    return None


def _check_file(folder: Path, name: str, known: Any):
    if not _is_inside(name) or not isinstance(known, dict):
        raise InputError(f"{folder / CONFIG}: damaged: {name!r} is not a file of the folder")
    path = folder / name
    if not path.is_file():
        raise InputError(f"{path}: no such file, but the exported model needs it")
    size = path.stat().st_size
    if size != known.get("size"):
        raise InputError(
            f"{path}: has {size:,} bytes, not the {known.get('size')} of the exported model; it is "
            "truncated or was changed"
        )
    if _digest_of(path) != known.get(CHECKSUM):
        raise InputError(f"{path}: was changed since the model was exported (its SHA-256 differs)")


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    leaves = path.is_absolute() or ".." in path.parts or "\\" in name
    return bool(path.name) and not leaves and "\0" not in name


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if not path.is_dir():
            yield path.relative_to(folder).as_posix()


def _digest_of(path: Path) -> str:
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _own_digest(config: Mapping[str, Any]) -> str:
    entries = {name: value for name, value in config.items() if name != CHECKSUM}
    text = json.dumps(entries, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
