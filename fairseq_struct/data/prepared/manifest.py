"""The manifest of a prepared folder: how the folder was made, and which files belong to it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError

MANIFEST = "manifest.json"
FILES = "files"


def digest(lines: Iterable[str]) -> str:
    """The SHA-256 of lines of text."""
    found = hashlib.sha256()
    for line in lines:
        found.update(f"{line}\n".encode())
    return found.hexdigest()


def write_manifest(
    folder: Path, content: Mapping[str, Any], without: str | None = None
) -> dict[str, Any]:
    """Write ``content`` and the size of every file in the folder as its manifest, and return it.

    Files of the inner folder ``without`` do not count.

    The manifest has no date and no path: the same inputs and options make the same manifest.
    """
    names = sorted(name for name in _entries(folder) if Path(name).parts[0] != without)
    sizes = {name: (folder / name).stat().st_size for name in names}
    manifest = {**content, FILES: sizes}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return json.loads(text)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a prepared folder; None if it is missing or does not list the files."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        own = manifest[FILES]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    # Security: a manifest may come from elsewhere, and the files that it lists may be removed.
    return manifest if isinstance(own, dict) and all(map(_is_inside, own)) else None


def own_files(folder: Path) -> list[str] | None:
    """Names of a prepared folder's files, the manifest last; None without a manifest of files."""
    manifest = read_manifest(folder)
    return None if manifest is None else [*manifest[FILES], MANIFEST]


def foreign_files(folder: Path, own: Collection[str]) -> list[str]:
    """Entries of a folder that are not its own files, links and empty folders included."""
    found = set(_entries(folder, folders=True)) | set(own)
    full = {str(parent) for name in found for parent in Path(name).parents}
    # A link points elsewhere, even if it replaces one of the own folders.
    full = {name for name in full if not (folder / name).is_symlink()}
    return sorted(found - full - set(own))


def check_files(folder: Path, own: Mapping[str, int]) -> None:
    """Check that every file of a folder exists and has its recorded size.

    Raises:
        InputError: a file is missing or has another size.
    """
    for name, size in own.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise InputError(
                f"{path}: is missing or was changed since the folder was prepared; prepare it again"
                " with --overwrite"
            )


def remove_files(folder: Path, own: Sequence[str]) -> None:
    """Remove a folder's own files and the folders that are empty then, the last file at the end."""
    for name in own[:-1]:
        (folder / name).unlink(missing_ok=True)
    for parent, _, _ in os.walk(folder, topdown=False):
        if Path(parent) == folder:
            (folder / own[-1]).unlink(missing_ok=True)
        with suppress(OSError):  # the folder has a foreign file
            os.rmdir(parent)


def difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Describe the first ``wanted`` entry that another manifest lacks; None if there is none."""
    for key, value in wanted.items():
        old = known.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            for name in {**value, **old}:
                if old.get(name) != value.get(name):
                    if key == "text_sha256":
                        return f"{name} text"
                    return f"{name} ({old.get(name)}, now {value.get(name)})"
        elif old != value:
            return f"{key} ({old}, now {value})"
    return None


def _is_inside(name: str) -> bool:
    """Whether a name refers to something below the folder."""
    path = Path(name)
    leaves = path.is_absolute() or ".." in path.parts
    return bool(path.name) and not leaves and "\0" not in name


def _entries(folder: Path, folders: bool = False) -> Iterator[str]:
    for parent, inner, files in os.walk(folder):
        links = [name for name in inner if (Path(parent) / name).is_symlink()]
        for name in [*files, *(inner if folders else links)]:
            yield str((Path(parent) / name).relative_to(folder))
