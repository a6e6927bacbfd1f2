"""A training that is refused leaves no empty ``--save-dir`` behind.

fairseq makes this folder first of all, to see whether it can be written, and then reads the data.
Here it is made for that look alone, and once more when the training begins.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    utils = importlib.import_module("fairseq.checkpoint_utils")
    utils.verify_checkpoint_directory = _only_looking(utils.verify_checkpoint_directory)
    utils.load_checkpoint = _making_folder(utils.load_checkpoint)


def _only_looking(original: Callable[[str], None]) -> Callable[[str], None]:
    @functools.wraps(original)
    def verify_checkpoint_directory(save_dir: str) -> None:
        folder = Path(save_dir)
        new = [one for one in (folder, *folder.parents) if not one.exists()]
        original(save_dir)
        with contextlib.suppress(OSError):  # something else is in it by now
            for one in new:
                one.rmdir()

    return verify_checkpoint_directory


def _making_folder(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the folder when all was checked that the trainer checks, in every process."""

    @functools.wraps(original)
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough: Any) -> Any:
        found = original(cfg, trainer, **passthrough)
        os.makedirs(cfg.save_dir, exist_ok=True)
        return found

    return load_checkpoint
