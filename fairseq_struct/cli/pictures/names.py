"""Short names of checkpoints, for captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def short_names(checkpoints: Sequence[Path]) -> list[str]:
    """What tells checkpoints apart: ``udgn`` for ``runs/udgn/checkpoint_best.pt``.

    A file that is called ``checkpoint…`` has the name of its folder. What all names have in common
    at the beginning is left out; names that would be equal are whole paths.
    """
    parts = [
        path.parts[:-1] if path.stem.startswith("checkpoint") and len(path.parts) > 1 else
        path.with_suffix("").parts
        for path in checkpoints
    ]  # fmt: skip
    first = 0
    while min(map(len, parts)) > first + 1 and len({one[first] for one in parts}) == 1:
        first += 1
    names = ["/".join(one[first:]) for one in parts]
    if len(set(names)) < len(set(checkpoints)):
        return [str(path) for path in checkpoints]
    return names
