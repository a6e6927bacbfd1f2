"""Task and model of a checkpoint, or of an exported folder, as they were trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from fairseq_struct import compat, plugin
from fairseq_struct.errors import InputError
from fairseq_struct.files.checkpoint_file import (
    foreign_content,
    name_in,
    options_of,
    parameters_of,
)
from fairseq_struct.files.trained_data import unset_for_training
from fairseq_struct.files.trained_words import check_words
from fairseq_struct.inference.building import build_model, build_task, place_of_data
from fairseq_struct.inference.export.layout import CONFIG, WEIGHTS
from fairseq_struct.inference.export.reading import read_export
from fairseq_struct.inference.export.training_facts import training_facts

# Options of fairseq's tasks that only training reads; ours list them in ``ONLY_FOR_TRAINING``.
OF_FAIRSEQ = {"translation": ("eval_bleu",)}


class Restored(NamedTuple):
    """A trained model.

    Args:
        cfg: its options, in groups.
        task: its task, with the dictionaries.
        model: the model.
        facts: how it was trained: see :func:`.training_facts`.
    """

    cfg: Mapping[str, Any]
    task: Any
    model: nn.Module
    facts: dict[str, Any]


def restore(path: str | Path, data: str | Path | None = None) -> Restored:
    """Build the task and the model of a checkpoint, or of a folder that ``export`` wrote.

    Args:
        path: the file or folder.
        data: folder with the dictionaries, or a prepared one; by default the folder used in
            training, or the one in the export.

    Raises:
        InputError: the file or folder is missing, damaged or of another kind, or no model can be
            built of it, or the dictionaries have other words than in its training.
    """
    plugin.load()
    if Path(path).is_dir():
        cfg, state, facts = read_export(path)
    else:
        cfg, state = _read_checkpoint(path)
        facts = training_facts(cfg, state)
        data = place_of_data(cfg, path) if data is None else data
    if data is not None:
        if "data" not in cfg["task"]:
            raise InputError(f"{path}: it was trained without a folder of data; leave out --data")
        cfg["task"]["data"] = str(_inside(Path(data)))
    _unset_for_training(cfg)
    task = build_task(cfg, path)
    check_words(state.get("task_state"), task, str(path))
    return Restored(cfg, task, build_model(cfg, task, state, path), facts)


def _inside(folder: Path) -> Path:
    """``data-bin`` of a prepared folder; any other folder itself."""
    inside = folder / "data-bin"
    return inside if inside.is_dir() else folder


def _read_checkpoint(checkpoint: str | Path) -> tuple[Mapping, dict]:
    """The options and the content of a file that fairseq-train wrote."""
    from fairseq import checkpoint_utils

    path = Path(checkpoint)
    if path.name == WEIGHTS and path.with_name(CONFIG).is_file():
        raise InputError(f"{path}: is a part of an exported model; name its folder, {path.parent}")
    # load_state explains what is wrong with a damaged file; fairseq's loader upgrades old files.
    found = compat.load_state(checkpoint)
    if not {"args", "cfg"} & set(found) or "model" not in found:
        raise InputError(f"{checkpoint}: not written by fairseq-train")
    parameters_of(found, checkpoint)
    if found.get("cfg") is not None:
        options_of(found, checkpoint, "task", "model")
    del found
    with foreign_content(checkpoint):
        state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
        return options_of(state, checkpoint, "task", "model"), state


def _unset_for_training(cfg: Mapping):
    """Unset the options of the task and the model that only training reads."""
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    for group, known in (("task", TASK_REGISTRY), ("model", MODEL_REGISTRY | ARCH_MODEL_REGISTRY)):
        name = name_in(cfg[group])
        unset_for_training(cfg[group], known.get(name), OF_FAIRSEQ.get(name, ()))


def made_by(checkpoint: str | Path) -> dict:
    """Describe how a checkpoint or an exported model was made, for records of results.

    Returns:
        ``model``, the name of the model, and its ``options``; ``seed``; ``epochs``, the planned
        number; ``updates`` so far; ``data``, the folder used in training; ``text``, a summary.

    Raises:
        InputError: the file is missing or damaged.
    """
    plugin.load()
    if Path(checkpoint).is_dir():
        cfg, _, facts = read_export(checkpoint)
    else:
        state = compat.load_state(checkpoint)
        cfg = options_of(state, checkpoint, "common", "optimization", "task", "model")
        facts = training_facts(cfg, state)
    model = cfg["model"] if isinstance(cfg["model"], Mapping) else vars(cfg["model"])
    name, seed, updates = model["_name"], facts["seed"], facts["updates"]
    return {
        "model": name,
        "options": dict(model),
        "seed": seed,
        "epochs": int(facts["options"].get("max_epoch") or 0),
        "updates": updates,
        "data": str(cfg["task"].get("data")),
        "text": f"{name}, seed {seed}, {updates} updates",
    }
