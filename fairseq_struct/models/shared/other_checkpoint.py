"""Reads the checkpoint of another training, for models that start from parts of its model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq import checkpoint_utils
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.files.checkpoint_file import foreign_content, parameters_of, require_finite


def read_other(path: str, option: str) -> tuple[Mapping[str, Any], dict[str, Tensor]]:
    """The content of another checkpoint, and the parameters of its model.

    Args:
        path: of the checkpoint.
        option: that names it, for messages.

    Raises:
        InputError: it does not exist, is damaged or not of a training, its model is anything but
            dense tensors, or it has diverged.
    """
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder, not a file ({option})")
    if not Path(path).is_file():
        raise InputError(f"{path or repr(path)}: no such file ({option})")
    try:
        with foreign_content(path):
            state = checkpoint_utils.load_checkpoint_to_cpu(path)
        parameters = parameters_of(state, path)
        require_finite(parameters, path)
    except InputError as error:
        raise InputError(f"{option} {error}") from None
    return state, parameters
