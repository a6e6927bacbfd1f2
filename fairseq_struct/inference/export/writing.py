"""Writes a trained model as one folder to keep or to share."""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fairseq_struct import __version__, compat
from fairseq_struct.data.prepared.atomic_folder import (
    require_own,
    require_replaceable,
    staging_folder,
    take_place,
)
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.files.checkpoint_file import name_in
from fairseq_struct.inference.export import transformers_model
from fairseq_struct.inference.export.config_file import own_files, write_config
from fairseq_struct.inference.export.data_files import write_data_files, write_encoder_files
from fairseq_struct.inference.export.layout import CARD, FORMAT, FORMATS, TRANSFORMERS, WEIGHTS
from fairseq_struct.inference.export.model_card import Described, count_of, is_edited, model_card
from fairseq_struct.inference.export.options import plain_options
from fairseq_struct.inference.export.records import record_of
from fairseq_struct.inference.export.weights import write_weights
from fairseq_struct.inference.loading import import_user_dir
from fairseq_struct.inference.restoring import Restored, restore


def export_model(
    checkpoint: str | Path, folder: str | Path, *, format: str = FORMAT,
    data: str | Path | None = None, half: bool = False, records: str | Path | None = None,
    variant: str | None = None, experiment: str | None = None, overwrite: bool = False,
    user_dir: str | Path | None = None, say: Callable[[str], None] = lambda message: None,
) -> Path:  # fmt: skip
    """Write a trained model as one folder, which :func:`.load` and all verbs read.

    The folder has the parameters, the options that rebuild the model, the dictionaries, and the
    segmentation model of a prepared folder; see :mod:`.layout`. It is about a third of a checkpoint
    of Adam, which also holds two moments of each parameter. Loading it gives the same outputs as
    the checkpoint, bit for bit, unless ``half`` rounded the parameters. The folder appears complete
    or not at all, after it was loaded once and compared.

    Args:
        checkpoint: a file that fairseq-train wrote, or an exported folder.
        folder: the folder to make.
        format: ``fairseq-struct``; or ``transformers``: a model of Hugging Face's library, for
            architectures that have an equal there (:mod:`.transformers_model`).
        data: folder with the dictionaries; by default the folder used in training.
        half: store the parameters with 16 bits.
        records: file of results (``recipes/SYSTEM/results.jsonl``) with the scores for the card.
        variant, experiment: of the record, if the file has several of the model's seed.
        overwrite: replace an exported folder; it must have no other files. A model card that was
            edited is kept.
        user_dir: as for :func:`.load`.
        say: called with progress messages.

    Returns:
        ``folder``.

    Raises:
        InputError: the checkpoint or its data cannot be used, ``folder`` is in the way, there is no
            such record, or the architecture has no equal in the other library.
    """
    if format not in FORMATS:
        raise InputError(unknown_name("--format", format, FORMATS))
    folder, out = Path(folder), Path(os.path.realpath(folder))
    _check_place(folder, overwrite)
    import_user_dir(user_dir)
    found = restore(checkpoint, data)
    record = record_of(Path(checkpoint), found.facts, records, variant, experiment)
    write = transformers_model.write if format == TRANSFORMERS else _write
    with staging_folder(out, say, own_files) as staging:
        _check_place(folder, overwrite)  # another process may have written it
        try:
            about = write(found, _entries(found), staging, folder.name, half)
        except InputError as error:
            raise InputError(f"{checkpoint}: {error}") from None
        card = model_card(replace(about, record=record)).encode()
        (staging / CARD).write_bytes(_edited_card(folder, say) or card)
        take_place(staging, out, own_files)
    return folder


def _check_place(folder: Path, overwrite: bool):
    """Refuse a folder that holds anything but an export that may be replaced."""
    require_replaceable(folder)
    if not folder.exists() or not any(folder.iterdir()):
        return
    own = own_files(folder)
    if own is None:
        raise InputError(f"{folder}: exists, but is no exported model; name another folder")
    if not overwrite:
        raise InputError(f"{folder}: exists; replace it with --overwrite, or name another folder")
    require_own(folder, own, folder)


def _edited_card(folder: Path, say: Callable[[str], None]) -> bytes | None:
    """The model card that is in the folder, if a user edited it."""
    card = folder / CARD
    if not card.is_file() or not is_edited(content := card.read_bytes()):
        return None
    say(f"{card}: was edited and is kept as it is; move it away for a new one")
    return content


def _entries(found: Restored) -> dict[str, Any]:
    """What ``config.json`` says of a model, except its files."""
    options = plain_options(found.cfg)
    entries = {
        "architecture": name_in(found.cfg["model"]), **options, "training": found.facts,
        "versions": _versions(),
    }  # fmt: skip
    common = found.cfg.get("common")
    folder = common.get("user_dir") if isinstance(common, Mapping) else None
    if folder and type(found.model).__module__.split(".")[0] not in ("fairseq", "fairseq_struct"):
        entries["user_dir"] = Path(folder).name
    return entries


def _write(
    found: Restored, entries: Mapping[str, Any], folder: Path, name: str, half: bool
) -> Described:
    """Write the files in this package's own format, and load them once."""
    manifest = write_data_files(found.task, found.cfg["task"].get("data"), folder)
    if isinstance(found.cfg["model"], Mapping):
        write_encoder_files(found.cfg["model"].get("encoder_folder"), folder)
    parameters = _parameters(found)
    tied = write_weights(parameters, folder / WEIGHTS, half)
    config = write_config(folder, {**entries, "tied": tied})
    again = _parameters(restore(folder))
    for key, value in parameters.items():
        if half and value.dtype == torch.float32:
            value = value.half().float()
        if not value.equal(again[key]):
            raise InputError(f"cannot be exported: {key} differs after loading")
    usage = ("import fairseq_struct", "", f"model = fairseq_struct.load({json.dumps(name)})")
    notes = (f"On the command line, `fairseq-struct VERB {name}` takes the folder of this model "
             "wherever it takes a checkpoint.",)  # fmt: skip
    if half:
        notes += ("The parameters were rounded to 16 bits.",)
    return Described(
        name=name, config=config, manifest=manifest, parameters=count_of(found.model), usage=usage,
        notes=notes,
    )  # fmt: skip


def _parameters(found: Restored) -> dict[str, torch.Tensor]:
    """Parameters and buffers, without what only goes on with a training."""
    state = found.model.state_dict()
    return {name: value for name, value in state.items() if not name.endswith("_extra_state")}


def _versions() -> dict[str, str]:
    fairseq = next(iter(compat.installed_fairseq()), "")
    return {
        "fairseq-struct": __version__, "fairseq": fairseq, "torch": torch.__version__,
        "safetensors": importlib.metadata.version("safetensors"),
    }  # fmt: skip
