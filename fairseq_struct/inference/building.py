"""Builds the task and the model of a checkpoint's options, which may be damaged or forged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from fairseq_struct.data.prepared.vocabulary.dictionary_file import check_dictionary
from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.checkpoint_file import name_in, require_finite
from fairseq_struct.files.described_networks import foreign_options, model_of
from fairseq_struct.files.trained_data import data_of_training
from fairseq_struct.inference.evaluation_mode import OF_ALL_THREADS, default_float32


def place_of_data(cfg: Mapping, checkpoint: str | Path) -> Path | None:
    """Where the data of a checkpoint are now: see :func:`.data_of_training`."""
    with foreign_options(checkpoint):
        return data_of_training(cfg, checkpoint)


def build_task(cfg: Mapping, checkpoint: str | Path):
    """Build the task, with the dictionaries in the folder ``cfg["task"]["data"]``, if it has one.

    Raises:
        InputError: the task or the folder does not exist, or a dictionary is damaged.
    """
    from fairseq.tasks import TASK_REGISTRY, setup_task

    _registered("task", cfg, TASK_REGISTRY, checkpoint)
    with foreign_options(checkpoint):
        if "data" not in cfg["task"]:
            return setup_task(cfg["task"])
        folder = Path(str(cfg["task"].get("data")))
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, but the dictionaries must be in it")
    for path in sorted(folder.glob("dict*.txt")):
        check_dictionary(path)
    with foreign_options(checkpoint):
        return setup_task(cfg["task"])


def build_model(cfg: Mapping, task, state: dict, checkpoint: str | Path) -> nn.Module:
    """Build the model and load its parameters, as :func:`.model_of` does.

    Args:
        cfg: the options.
        task: the task of these options.
        state: the content of the checkpoint.
        checkpoint: path of the checkpoint.

    Raises:
        InputError: the model does not exist, it cannot be built from the options, its parameters
            do not match the checkpoint, or they are not finite.
    """
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    _registered("model", cfg, {**ARCH_MODEL_REGISTRY, **MODEL_REGISTRY}, checkpoint)
    # The initial numbers are drawn in vain: torch's random state stays as it was.
    with OF_ALL_THREADS, default_float32(), torch.random.fork_rng(devices=[]):
        model = model_of(task, cfg, state["model"], checkpoint)
    require_finite(dict(model.named_parameters()), checkpoint)
    return model


def _registered(group: str, cfg: Mapping, registry: Mapping, checkpoint: str | Path):
    name = name_in(cfg[group])
    if name not in registry:
        with foreign_options(checkpoint):
            common = cfg.get("common")
            folder = common.get("user_dir") if isinstance(common, Mapping) else None
        # The folder is only named: a checkpoint must not decide which code runs.
        hint = f"; it was trained with --user-dir {folder}; give that option" if folder else ""
        raise InputError(
            f"{checkpoint}: its {group} {name!r} is not registered here"
            f"{suggestion(name, registry) or hint}"
        )
