"""What checkpoint files may hold: looked at before anything is read, and before anything is used.

torch's safe unpickler runs no code of a file. It does not ask, however, how much memory a file
takes once it is unpacked, and what it returns may be any tensors and containers.
"""

from __future__ import annotations

import errno
import mmap
import os
import pickle
import re
import tarfile
import zipfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_struct.errors import DamagedCheckpoint, InputError, out_of_memory
from fairseq_struct.files.text_files import reading

if TYPE_CHECKING:
    from torch import Tensor

# What torch says of files that end too soon, in its zip format and the one before.
_OF_CUT_FILES = ("PytorchStreamReader", "unexpected EOF", "wrong byte size")
_ZIP = b"PK\x03\x04"
_PICKLE = b"\x80"
# How pickles name the one thing which torch takes for safe whose size is a mere number in the file.
_OF_ANY_SIZE = b"\nbytearray\n"
# How often the numbers of a file may stand in its model's parameters: tied ones share theirs.
_MOST_SHARED = 16


def look_at(path: str | Path) -> None:
    """Look at a file from outside, without unpacking anything.

    Raises:
        InputError: it cannot be read, is of another kind (TorchScript, numpy, tar), or would be
            larger in memory than on disk, which no file is that torch has written.
    """
    path, large = Path(path), False
    with reading(path), path.open("rb") as file:
        begins, size = file.read(4), os.fstat(file.fileno()).st_size
        file.seek(0)
        if begins == _ZIP:
            try:
                archive = zipfile.ZipFile(file)
                _look_at_entries(path, archive.infolist(), size)
                names = (name for name in archive.namelist() if name.endswith("data.pkl"))
                large = any(_OF_ANY_SIZE in archive.read(name) for name in names)
            except InputError:
                raise
            except Exception:  # what damaged archives raise is anything
                raise no_checkpoint(path) from None
        elif begins[:1] == _PICKLE and size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                large = content.find(_OF_ANY_SIZE) >= 0
        elif begins[:1] != _PICKLE and _is_tar(file):
            raise InputError(f"{path}: a tar archive, not a checkpoint of fairseq-train")
        if large:
            raise InputError(
                f"{path}: refused, because it asks for a bytearray, which may be of any size and "
                "which a fairseq checkpoint has no need of"
            )


def _look_at_entries(path: Path, entries: list[zipfile.ZipInfo], size: int):
    names = [entry.filename for entry in entries]
    if any(name.endswith("/constants.pkl") for name in names):
        raise InputError(f"{path}: a TorchScript program, not a checkpoint of fairseq-train")
    if any(name.endswith(".npy") for name in names):
        raise InputError(f"{path}: arrays of numpy, not a checkpoint of fairseq-train")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > size:
        raise InputError(
            f"{path}: refused, because its {size:,} bytes would unpack to {unpacked:,}; "
            "fairseq-train does not compress checkpoints"
        )


def _is_tar(file) -> bool:
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            return archive.next() is not None  # zeros are an empty archive, or a torn file
    except (tarfile.TarError, EOFError, ValueError):
        return False


@contextmanager
def refusing(path: str | Path) -> Iterator[None]:
    """Around torch's reading of a file: what fails becomes one error that names it.

    torch's own message advises users to switch the protection off, and does not name the file; the
    chain of exceptions is cut so that this advice is not printed above ours.

    Raises:
        InputError: the file is damaged, no checkpoint, or asks for a class or function that
            checkpoints have no need of.
    """
    try:
        yield
    except pickle.UnpicklingError as error:
        raise _refusal(path, error) from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # which torch has for files cut short
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        raise no_checkpoint(path) from None
    except (EOFError, RuntimeError, MemoryError) as error:
        if out_of_memory(error):
            raise InputError(f"{path}: takes more memory than there is") from None
        if isinstance(error, RuntimeError) and not any(say in str(error) for say in _OF_CUT_FILES):
            raise
        raise no_checkpoint(path) from None


def no_checkpoint(path: str | Path) -> DamagedCheckpoint:
    """The error of a file that torch makes nothing of."""
    return DamagedCheckpoint(f"{path}: not a checkpoint, or one that was cut short")


def parameters_of(state: dict[str, Any], path: str | Path) -> dict[str, Tensor]:
    """The parameters of a checkpoint's model, without what modules keep beside them.

    Args:
        state: what the file holds.
        path: of the file.

    Raises:
        InputError: there is no model; or one of its parameters is no tensor, has not all of its
            numbers (sparse, quantized, nested, without data), or more of them than the file.
    """
    import torch

    model = state.get("model")
    if not isinstance(model, dict):
        raise InputError(f"{path}: not a checkpoint of fairseq, it has no 'model'")
    found, claimed = {}, 0
    for name, value in model.items():
        if not isinstance(name, str):
            raise InputError(f"{path}: {name!r} is no name of a parameter of its 'model'")
        if name.endswith("_extra_state"):  # such as a recurrent state
            continue
        if not isinstance(value, torch.Tensor):
            raise InputError(f"{path}: {name} of its 'model' is no tensor: {type(value).__name__}")
        if value.layout is not torch.strided or value.is_quantized or value.is_meta:
            kind = "has no numbers" if value.is_meta else f"is not dense ({value.layout})"
            raise InputError(f"{path}: the parameter {name} {kind}")
        found[name] = value
        claimed += value.numel() * value.element_size()
    if claimed > _MOST_SHARED * os.path.getsize(path):
        raise InputError(f"{path}: its parameters claim to be of {claimed:,} bytes; it has fewer")
    return found


def options_of(state: dict[str, Any], path: str | Path, *groups: str) -> Mapping[str, Any]:
    """The options that a checkpoint was trained with, in groups such as ``task`` and ``model``.

    Args:
        state: what the file holds.
        path: of the file.
        groups: that are needed.

    Raises:
        InputError: there are none (fairseq before 0.11 wrote ``args``), a group is missing, or
            task or model, if needed, has no name.
    """
    options = state.get("cfg")
    if not isinstance(options, Mapping) or not options:
        raise InputError(f"{path}: has no options ('cfg'), as checkpoints of fairseq 0.11 or later")
    for group in groups:
        # A model whose options were an argparse.Namespace keeps them as one.
        kinds = Mapping | Namespace if group == "model" else Mapping
        if not isinstance(options.get(group), kinds):
            raise InputError(f"{path}: its options ('cfg') have no group {group!r}")
    for group in {"task", "model"}.intersection(groups):
        if not name_in(options[group]):
            raise InputError(f"{path}: its options ('cfg') name no {group}")
    return options


def name_in(group: Mapping | Namespace) -> str | None:
    """The name of the task, the model and so on that a group of options is of; None without."""
    values = vars(group) if isinstance(group, Namespace) else group
    name = values.get("_name")
    return name if isinstance(name, str) else None


def _refusal(path: str | Path, error: pickle.UnpicklingError) -> InputError:
    names = _foreign_globals(path, error)
    if names:
        return InputError(
            f"{path}: refused, because it asks to import {', '.join(names)}, which a fairseq"
            " checkpoint has no need of; nothing in the file was run (if you made it yourself and"
            " need that name, allow it with torch.serialization.add_safe_globals)"
        )
    reason = re.search(r"WeightsUnpickler error: *(\S[^\n]*)", str(error))
    detail = f" ({reason.group(1)})" if reason else ""
    return DamagedCheckpoint(f"{path}: not a checkpoint of fairseq, or a damaged one{detail}")


def _foreign_globals(path: str | Path, error: pickle.UnpicklingError) -> list[str]:
    import torch

    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # files older than torch's zip format: only the message tells
        names = []
    return sorted(names) or re.findall(r"GLOBAL (\S+)", str(error))[:1]
