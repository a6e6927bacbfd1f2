"""Parameters in a safetensors file: numbers and names, and nothing that can run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from fairseq_struct.errors import InputError, first_line


def write_weights(
    parameters: Mapping[str, Tensor], path: str | Path, half: bool = False
) -> dict[str, str]:
    """Write parameters; of tied ones, which share their numbers, only the first.

    Args:
        parameters: tensors by name.
        path: the file to write.
        half: store numbers of 32 bits with 16 bits.

    Returns:
        The name in the file of each parameter that is tied to another one.

    Raises:
        InputError: a number is too large for 16 bits.
    """
    from safetensors.torch import save

    kept, tied, first_with = {}, {}, {}
    for name, value in parameters.items():
        storage = value.data_ptr(), value.shape, value.stride(), value.dtype
        first = first_with.setdefault(storage, name) if value.numel() else name
        if first != name:
            tied[name] = first
            continue
        # A copy, because safetensors refuses parts of a larger tensor.
        kept[name] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        if half and value.dtype == torch.float32:
            kept[name] = kept[name].half()
            if kept[name].isfinite().logical_not().any():
                raise InputError(f"--half: {name} has numbers that are too large for 16 bits")
    # Not save_file, whose files none but their owner may read.
    Path(path).write_bytes(save(kept, metadata={"format": "pt"}))
    return tied


def read_weights(path: str | Path, tied: Mapping[str, str]) -> dict[str, Tensor]:
    """Read parameters.

    Args:
        path: the file.
        tied: what :func:`write_weights` returned.

    Raises:
        InputError: the file is damaged, or a tied parameter has no partner in it.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(path, device="cpu")
    except (SafetensorError, ValueError, KeyError, RuntimeError) as error:
        said = first_line(error)
        raise InputError(f"{path}: not a file of safetensors, or a damaged one ({said})") from None
    for name, first in tied.items():
        if name in found or first not in found:
            raise InputError(f"{path}: {name} cannot be tied to {first}")
    return {**found, **{name: found[first] for name, first in tied.items()}}
