"""Trained models from their checkpoints, as the tools that are registered for them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import torch

from fairseq_struct import compat, plugin
from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.files.checkpoint_file import name_in, options_of, parameters_of
from fairseq_struct.inference.building import build_model, build_task
from fairseq_struct.inference.registry import (
    ABILITIES,
    BATCH,
    given_options,
    refuse_foreign,
    tool_for,
)

# What ``load`` is for if it is not told: trees or labels.
TREES_OR_LABELS = ("parse", "classify")


def load(
    checkpoint: str | Path,
    data: str | Path | None = None,
    *,
    ability: str | None = None,
    user_dir: str | Path | None = None,
    device: str | torch.device | None = None,
    batch_words: int = BATCH_WORDS,
    **options,
):
    """Load a trained model as the tool that serves it: see :mod:`.registry`.

    That is a :class:`.Classifier`, or the parser of a translation model or of a language model; of
    a model of another package it may be a tool of that package.

    Args:
        checkpoint: a file that fairseq-train wrote.
        data: folder with its dictionaries; the one it was trained with if not given.
        ability: what the model is wanted for, one of ``registry.ABILITIES``; trees or labels if
            not given.
        user_dir: folder whose models, tasks and tools are needed, as for fairseq's commands. Its
            code is run.
        device: where the model is to run; the CPU if not given.
        batch_words: words that go through the model at once, padding counted.
        options: of the tool, by the names that :mod:`.tools` gives them; those of
            ``fairseq-struct parse`` and ``classify``.

    Raises:
        InputError: the file is missing or damaged, no tool serves its model, or an option is
            unknown, out of range or of no use for this model.
    """
    if ability is not None and ability not in ABILITIES:
        raise InputError(unknown_name("ability", ability, ABILITIES))
    abilities = TREES_OR_LABELS if ability is None else (ability,)
    BATCH.check(batch_words)
    place = _place(device)
    import_user_dir(user_dir)
    given = given_options(abilities, options)
    task, model = _restore(checkpoint, data)
    try:
        tool = tool_for(model, abilities)
        refuse_foreign(tool, given)
        return tool.build(model.to(place), task, batch_words=batch_words, **given)
    except InputError as error:
        raise InputError(f"{checkpoint}: {error}") from None


def import_user_dir(folder: str | Path | None = None):
    """Register everything of this package with fairseq, and then what a folder registers.

    Args:
        folder: as for ``--user-dir`` of fairseq's commands.

    Raises:
        InputError: there is no such folder.
    """
    plugin.load()
    if folder is None:
        return
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder")
    from fairseq.utils import import_user_module

    import_user_module(Namespace(user_dir=str(folder)))


def _place(device: str | torch.device | None) -> torch.device:
    try:
        return torch.empty(0, device=device or "cpu").device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        said = (str(error).splitlines() or ["unusable"])[0]
        raise InputError(f"--device {device}: {said}") from None


def load_language_model(checkpoint: str | Path, data: str | Path | None = None, **options):
    """Load a trained language model as what scores sentences, a :class:`.LanguageModelScorer`.

    Args:
        checkpoint, data, options: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or it is no language model.
    """
    return load(checkpoint, data, ability="score", **options)


def load_masked_model(checkpoint: str | Path, data: str | Path | None = None, **options):
    """A trained masked language model, with a parser or without one, and its dictionary.

    Args:
        checkpoint, data, options: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or it is no masked language model.
    """
    tool = load(checkpoint, data, ability="channels", **options)
    return tool.model, tool.vocabulary.words


def _restore(checkpoint: str | Path, data: str | Path | None):
    """Task and model of a checkpoint."""
    from fairseq import checkpoint_utils

    # This one says what is wrong with a damaged file, fairseq's own adds what old ones lack.
    found = compat.load_state(checkpoint)
    if not {"args", "cfg"} & set(found) or "model" not in found:
        raise InputError(f"{checkpoint}: not written by fairseq-train")
    parameters_of(found, checkpoint)
    if found.get("cfg") is not None:
        options_of(found, checkpoint, "task", "model")
    del found
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
        cfg = options_of(state, checkpoint, "task", "model")
    except InputError:
        raise
    except Exception as error:  # what made-up options raise is anything
        said = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{checkpoint}: not written by fairseq-train ({type(error).__name__}: {said})"
        ) from error
    if data is not None:
        cfg["task"]["data"] = str(data)
    _unset_for_training(cfg)
    task = build_task(cfg, checkpoint)
    return task, build_model(cfg, task, state, checkpoint)


def _unset_for_training(cfg: Mapping):
    """Forget the files that only training reads, which may be gone.

    Classes of tasks and models name the options in ``ONLY_FOR_TRAINING``.
    """
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    for group, known in (("task", TASK_REGISTRY), ("model", MODEL_REGISTRY | ARCH_MODEL_REGISTRY)):
        options = cfg[group]
        for name in getattr(known.get(name_in(options)), "ONLY_FOR_TRAINING", ()):
            _unset(options, name)


def _unset(options: MutableMapping | Namespace, name: str):
    if name not in options:
        return
    if isinstance(options, Namespace):
        setattr(options, name, None)
    else:
        options[name] = None


def made_by(checkpoint: str | Path) -> dict:
    """How a checkpoint was made, for records of results.

    Returns:
        ``model``, its name, and its ``options``; ``seed``; ``epochs`` that it was to be trained
        for; ``updates`` so far; ``data``, its folder then; and ``text``, in words.

    Raises:
        InputError: the file is missing or damaged.
    """
    plugin.load()
    state = compat.load_state(checkpoint)
    cfg = options_of(state, checkpoint, "common", "optimization", "task", "model")
    history = state.get("optimizer_history") or [{}]
    seed, updates = cfg["common"].get("seed"), history[-1].get("num_updates", 0)
    model = cfg["model"] if isinstance(cfg["model"], Mapping) else vars(cfg["model"])
    name = model["_name"]
    return {
        "model": name,
        "options": dict(model),
        "seed": seed,
        "epochs": int(cfg["optimization"].get("max_epoch", 0)),
        "updates": updates,
        "data": str(cfg["task"].get("data")),
        "text": f"{name}, seed {seed}, {updates} updates",
    }
