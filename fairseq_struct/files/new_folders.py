"""Folders that a piece of work makes, to take them away if it comes to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def missing_folders(folder: Path) -> list[Path]:
    """List the folder and those above it that do not exist, the innermost first.

    Args:
        folder: the folder that will be made.
    """
    return [one for one in (folder, *folder.parents) if not one.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders; those that hold something, or were not made, are left as they are.

    Args:
        folders: of :func:`missing_folders`, before they were made.
    """
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
