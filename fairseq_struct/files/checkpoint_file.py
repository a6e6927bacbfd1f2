"""Checkpoint files: checks before they are unpacked and before they are used, and writing them.

torch's safe unpickler runs no code of a file. But it does not limit the memory of the unpacked
file, and it may return any tensors and containers.
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

from fairseq_struct.errors import DamagedCheckpoint, InputError, first_line, out_of_memory
from fairseq_struct.files.text_files import reading
from fairseq_struct.files.whole_files import whole_file

if TYPE_CHECKING:
    from torch import Tensor

# Parts of torch's errors for truncated files, in its zip format and in the older format.
_OF_CUT_FILES = ("PytorchStreamReader", "unexpected EOF", "wrong byte size")
_ZIP = b"PK\x03\x04"
_PICKLE = b"\x80"
# Pickles of a bytearray: torch considers it safe, but the file may request any size of it.
_OF_ANY_SIZE = b"\nbytearray\n"
# Limit of parameter bytes per byte of the file: tied parameters share their bytes.
_MOST_SHARED = 16


@contextmanager
def foreign_content(path: str | Path) -> Iterator[None]:
    """Turn whatever a forged checkpoint raises in fairseq's loading into one line.

    Args:
        path: the file, for the message.

    Raises:
        InputError: the file was not written by fairseq-train.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # forged options may raise any exception
        said = first_line(error)
        raise InputError(
            f"{path}: not written by fairseq-train ({type(error).__name__}: {said})"
        ) from error


def look_at(path: str | Path) -> None:
    """Check a file without unpacking it.

    Raises:
        InputError: the file cannot be read, is damaged or of another kind (TorchScript, numpy,
            tar), or would be larger in memory than on disk; torch writes no such file.
    """
    path, large = Path(path), False
    with reading(path), path.open("rb") as file:
        begins, size = file.read(4), os.fstat(file.fileno()).st_size
        file.seek(0)
        if begins == _ZIP:
            try:
                archive = zipfile.ZipFile(file)
                _look_at_entries(path, archive.infolist(), size)
                if (changed := archive.testzip()) is not None:  # torch does not compare checksums
                    raise DamagedCheckpoint(f"{path}: damaged: {changed} has another checksum")
                names = (name for name in archive.namelist() if name.endswith("data.pkl"))
                large = any(_OF_ANY_SIZE in archive.read(name) for name in names)
            except InputError:
                raise
            except Exception:  # damaged archives may raise any exception
                raise no_checkpoint(path) from None
        elif begins[:1] == _PICKLE and size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                large = content.find(_OF_ANY_SIZE) >= 0
        elif begins[:1] != _PICKLE and _is_tar(file):
            raise InputError(f"{path}: a tar archive, not a checkpoint of fairseq-train")
        if large:
            raise InputError(
                f"{path}: refused, because it asks for a bytearray, which may have any size and "
                "which fairseq checkpoints do not need"
            )


def _look_at_entries(path: Path, entries: list[zipfile.ZipInfo], size: int):
    names = [entry.filename for entry in entries]
    if any(name.endswith("/constants.pkl") for name in names):
        raise InputError(f"{path}: a TorchScript program, not a checkpoint of fairseq-train")
    if any(name.endswith(".npy") for name in names):
        raise InputError(f"{path}: a file of numpy arrays, not a checkpoint of fairseq-train")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > size:
        raise InputError(
            f"{path}: refused, because its {size:,} bytes would unpack to {unpacked:,}; "
            "fairseq-train does not compress checkpoints"
        )


def _is_tar(file) -> bool:
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            return archive.next() is not None  # zeros are an empty archive, or a truncated file
    except (tarfile.TarError, EOFError, ValueError):
        return False


@contextmanager
def refusing(path: str | Path) -> Iterator[None]:
    """Turn errors of torch's reading inside the block into one error that names the file.

    torch's own message does not name the file, and advises users to switch the protection off. The
    chain of exceptions is cut, so that this advice is not printed above the error.

    Raises:
        InputError: the file is damaged, not a checkpoint, or requests a class or function that
            checkpoints do not need.
    """
    try:
        yield
    except pickle.UnpicklingError as error:
        raise _refusal(path, error) from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # torch raises these two for truncated files
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        raise no_checkpoint(path) from None
    except (EOFError, RuntimeError, MemoryError) as error:
        if out_of_memory(error):
            raise InputError(f"{path}: not enough memory to read it") from None
        if isinstance(error, RuntimeError) and not any(say in str(error) for say in _OF_CUT_FILES):
            raise
        raise no_checkpoint(path) from None


def no_checkpoint(path: str | Path) -> DamagedCheckpoint:
    """The error for a file that torch cannot read."""
    return DamagedCheckpoint(f"{path}: not a checkpoint, or a truncated one")


def parameters_of(state: dict[str, Any], path: str | Path) -> dict[str, Tensor]:
    """The parameters of a checkpoint's model, without the extra state of modules.

    Args:
        state: the content of the file.
        path: path of the file.

    Raises:
        InputError: there is no model; or a parameter is not a tensor, is not dense (sparse,
            quantized, nested, without data), or the parameters have more bytes than the file.
    """
    import torch

    model = state.get("model")
    if not isinstance(model, dict):
        raise InputError(f"{path}: not a checkpoint of fairseq: it has no 'model'")
    found, claimed = {}, 0
    for name, value in model.items():
        if not isinstance(name, str):
            raise InputError(
                f"{path}: its 'model' has a parameter named {name!r}, which is not text"
            )
        if name.endswith("_extra_state"):  # such as a recurrent state
            continue
        if not isinstance(value, torch.Tensor):
            raise InputError(
                f"{path}: {name} of its 'model' is not a tensor: {type(value).__name__}"
            )
        if value.layout is not torch.strided or value.is_quantized or value.is_meta:
            kind = "has no numbers" if value.is_meta else f"is not dense ({value.layout})"
            raise InputError(f"{path}: the parameter {name} {kind}")
        found[name] = value
        claimed += value.numel() * value.element_size()
    if claimed > _MOST_SHARED * os.path.getsize(path):
        raise InputError(f"{path}: its parameters claim {claimed:,} bytes; the file has fewer")
    return found


def require_finite(parameters: Mapping[str, Tensor], place: str | Path) -> None:
    """Refuse parameters of a training that has diverged.

    Args:
        parameters: dense tensors by name.
        place: the file, for messages.

    Raises:
        InputError: a value is NaN or infinite.
    """
    for name, value in parameters.items():
        if not value.isfinite().all():
            raise InputError(f"{place}: {name} is not finite; its training has diverged")


def options_of(state: dict[str, Any], path: str | Path, *groups: str) -> Mapping[str, Any]:
    """The training options of a checkpoint, in groups such as ``task`` and ``model``.

    Args:
        state: the content of the file.
        path: path of the file.
        groups: names of required groups.

    Raises:
        InputError: there are no options (fairseq before 0.11 wrote ``args``), a group is missing,
            or a required task or model has no name.
    """
    options = state.get("cfg")
    if not isinstance(options, Mapping) or not options:
        raise InputError(f"{path}: has no options ('cfg'), unlike checkpoints since fairseq 0.11")
    for group in groups:
        # The options of a model may also be an argparse.Namespace.
        kinds = Mapping | Namespace if group == "model" else Mapping
        if not isinstance(options.get(group), kinds):
            raise InputError(f"{path}: its options ('cfg') have no group {group!r}")
    for group in ("task", "model"):
        if group in groups and not name_in(options[group]):
            raise InputError(f"{path}: its options ('cfg') name no {group}")
    return options


def name_in(group: Mapping | Namespace) -> str | None:
    """The name of the task, model or other component of an option group; None if it has none."""
    values = vars(group) if isinstance(group, Namespace) else group
    name = values.get("_name")
    return name if isinstance(name, str) else None


def write_checkpoint(state: Any, path: str | Path, through_link: bool = True) -> None:
    """Write a checkpoint so that a crash leaves either the whole file or no file.

    Args:
        state: the content of the file.
        path: file to write.
        through_link: as for :func:`.whole_file`.

    Raises:
        InputError: the file cannot be written.
    """
    import torch

    with whole_file(path, through_link) as file:
        torch.save(state, file)


def _refusal(path: str | Path, error: pickle.UnpicklingError) -> InputError:
    names = _foreign_globals(path, error)
    if names:
        return InputError(
            f"{path}: refused, because it asks to import {', '.join(names)}, which fairseq"
            " checkpoints do not need; nothing in the file was run (if you made it yourself and"
            " need that name, allow it with torch.serialization.add_safe_globals)"
        )
    reason = re.search(r"WeightsUnpickler error: *(\S[^\n]*)", str(error))
    detail = f" ({reason.group(1)})" if reason else ""
    return DamagedCheckpoint(f"{path}: not a checkpoint of fairseq, or a damaged one{detail}")


def _foreign_globals(path: str | Path, error: pickle.UnpicklingError) -> list[str]:
    import torch

    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # in files older than torch's zip format, only the message has the name
        names = []
    return sorted(names) or re.findall(r"GLOBAL (\S+)", str(error))[:1]
