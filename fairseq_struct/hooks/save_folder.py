"""A training that is refused leaves no empty ``--save-dir`` behind.

fairseq makes this folder first of all, to see whether it can be written, and then reads the data.
Here it is made for that look alone, and once more when the training begins.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.files.new_folders import missing_folders, remove_empty
from fairseq_struct.hooks.wrapping import wrap


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    from fairseq import checkpoint_utils

    wrap(checkpoint_utils, "verify_checkpoint_directory", _only_looking)
    wrap(checkpoint_utils, "load_checkpoint", _making_folder)


def _only_looking(original: Callable[..., Any], save_dir: str) -> None:
    new = missing_folders(Path(save_dir))
    try:
        original(save_dir)
    except OSError as error:
        if error.filename != os.path.join(save_dir, "dummy"):
            raise
        # The file that fairseq writes into the folder for that look.
        raise InputError(
            f"--save-dir {save_dir}: cannot be written ({error.strerror or error})"
        ) from None
    remove_empty(new)


def _making_folder(original: Callable[..., Any], cfg: Any, trainer: Any, **passthrough: Any) -> Any:
    """Make the folder when all was checked that the trainer checks, in every process."""
    found = original(cfg, trainer, **passthrough)
    os.makedirs(cfg.save_dir, exist_ok=True)
    return found
