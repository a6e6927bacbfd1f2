"""Reads an exported model; nothing in its folder is ever run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.inference.export.config_file import read_config
from fairseq_struct.inference.export.layout import CONFIG, DATA_BIN, ENCODER, WEIGHTS
from fairseq_struct.inference.export.options import cfg_of
from fairseq_struct.inference.export.weights import read_weights


def read_export(folder: str | Path) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Read the folder of an exported model.

    Args:
        folder: what :func:`.export_model` wrote.

    Returns:
        The options in groups, ``{"model": parameters by name}``, and the facts of the training
        (:func:`.training_facts`), as for a checkpoint.

    Raises:
        InputError: the folder is no export, of a newer version, or was changed.
    """
    folder = Path(folder)
    config = read_config(folder)
    try:
        cfg = cfg_of(config)
    except InputError as error:
        raise InputError(f"{folder / CONFIG}: damaged: {error}") from None
    tied = config["tied"]
    if not all(isinstance(name, str) for name in tied.values()):
        raise InputError(f"{folder / CONFIG}: damaged: 'tied' holds something else than names")
    if "data" in cfg["task"]:
        cfg["task"]["data"] = str(folder / DATA_BIN)
    _point_to_encoder(cfg["model"], folder / ENCODER)
    return cfg, {"model": read_weights(folder / WEIGHTS, tied)}, _facts(config["training"], folder)


def _point_to_encoder(options: Any, folder: Path):
    if isinstance(options, Mapping) and (folder.is_dir() or "encoder_folder" in options):
        options["encoder_folder"] = str(folder) if folder.is_dir() else None


def _facts(training: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    if not isinstance(training.get("options"), dict) or "updates" not in training:
        raise InputError(f"{folder / CONFIG}: damaged: 'training' is incomplete")
    return {"seed": None, "epoch": None, "best": None, **training}
