"""Arrays of prepared folders, one in each ``.npy`` file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairseq_struct.errors import InputError

AGAIN = "prepare the data again"


def read_array(
    path: Path, kind: type, fits: Callable[[tuple[int, ...]], bool], *, mode: str | None = None,
    missing: str = AGAIN,
) -> np.ndarray:  # fmt: skip
    """Read an array of a prepared folder.

    Args:
        path: the file.
        kind: of its numbers.
        fits: whether an array of this shape can be the one.
        mode: ``r`` leaves it on the disk until it is used.
        missing: what to do where there is no such file.

    Raises:
        InputError: the file is missing, or holds no such array.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; {missing}")
    try:
        found = np.load(path, mode, allow_pickle=False)
    except (ValueError, EOFError):
        found = None
    if found is None or found.dtype != kind or not fits(found.shape):
        raise InputError(f"{path}: damaged; {AGAIN}")
    return found
