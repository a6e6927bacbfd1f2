"""What a prepared folder says of itself: how it was made, and which files are its own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
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


def write_manifest(folder: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Write ``content`` and the size of every file that is in the folder; return what was written.

    No date and no path: the same inputs and options make the same manifest.
    """
    sizes = {name: (folder / name).stat().st_size for name in sorted(_entries(folder))}
    manifest = {**content, FILES: sizes}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return json.loads(text)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a prepared folder; None if there is none that lists the folder's files."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        own = manifest[FILES]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    # Folders travel with their manifests, and what one lists may be removed.
    return manifest if isinstance(own, dict) and all(map(_is_inside, own)) else None


def foreign_files(folder: Path, own: Collection[str]) -> list[str]:
    """What lies in a folder, links and empty folders included, and is none of its own files."""
    found = set(_entries(folder, folders=True)) | {MANIFEST, *own}
    full = {str(parent) for name in found for parent in Path(name).parents}
    # What a link leads to is elsewhere, even where a folder of ours has been.
    full = {name for name in full if not (folder / name).is_symlink()}
    return sorted(found - full - {MANIFEST, *own})


def check_files(folder: Path, own: Mapping[str, int]) -> None:
    """Make sure that every file of a folder is there with all of its bytes.

    Raises:
        InputError: one is not.
    """
    for name, size in own.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise InputError(
                f"{path}: is missing or was changed since the folder was prepared; prepare it anew"
                " (--overwrite)"
            )


def remove_files(folder: Path, own: Collection[str]) -> None:
    """Remove a folder's own files, the manifest last, and the folders that this leaves empty."""
    for name in own:
        (folder / name).unlink(missing_ok=True)
    for parent, _, _ in os.walk(folder, topdown=False):
        if Path(parent) == folder:
            (folder / MANIFEST).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's file is in it
            os.rmdir(parent)


def difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The first of the ``wanted`` entries that another manifest has not, in words."""
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
    """Whether a name is that of something below the folder it is looked up in."""
    path = Path(name)
    leaves = path.is_absolute() or ".." in path.parts
    return bool(path.name) and not leaves and "\0" not in name


def _entries(folder: Path, folders: bool = False) -> Iterator[str]:
    for parent, inner, files in os.walk(folder):
        links = [name for name in inner if (Path(parent) / name).is_symlink()]
        for name in [*files, *(inner if folders else links)]:
            yield str((Path(parent) / name).relative_to(folder))
