"""Loads trained models from checkpoints, as the tools that are registered for them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, MutableMapping, Sequence
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
    tools_for,
)
from fairseq_struct.inference.trained_model import TrainedModel

# Abilities of a ``TrainedModel``; the first one that a model has is its main one.
USUAL = ("parse", "classify", "translate", "score", "images", "complete")


def load(
    checkpoint: str | Path,
    data: str | Path | None = None,
    *,
    ability: str | Sequence[str] | None = None,
    user_dir: str | Path | None = None,
    device: str | torch.device | None = None,
    batch_words: int = BATCH_WORDS,
    **options,
):
    """Load a trained model as a :class:`.TrainedModel`, or as one of its tools.

    The :class:`.TrainedModel` parses, classifies, translates or scores, as the model can. With an
    ability, only the tool with this ability is loaded: see :mod:`.registry`. Another package may
    register tools for its own models.

    Args:
        checkpoint: a file that fairseq-train wrote.
        data: folder with the dictionaries; by default the folder used in training.
        ability: purpose of the model, one of ``registry.ABILITIES``, or several, any of which will
            do. By default trees, labels of sentences or images, translations, scores of sentences
            and completions, all that the model can.
        user_dir: folder with the needed models, tasks and tools, as for fairseq's commands. Its
            code is run.
        device: device of the model; the CPU by default.
        batch_words: maximum number of words of a batch, padding included.
        options: options of the tool, by their names in :mod:`.tools`; the same options as of
            ``fairseq-struct parse`` and ``classify``.

    Raises:
        InputError: the file is missing or damaged, no tool serves its model, or an option is
            unknown, out of range or not applicable to this model.
    """
    abilities = (ability,) if isinstance(ability, str) else tuple(ability or USUAL)
    for one in abilities:
        if one not in ABILITIES:
            raise InputError(unknown_name("ability", one, ABILITIES))
    BATCH.check(batch_words)
    place = _place(device)
    import_user_dir(user_dir)
    given = given_options(abilities, options)
    task, model = _restore(checkpoint, data)
    try:
        if ability is None:
            tools = tools_for(model, abilities)
            refuse_foreign(tools.values(), given)
            return TrainedModel(
                checkpoint, model.to(place), task, tools, {"batch_words": batch_words, **given}
            )
        tool = tool_for(model, abilities)
        refuse_foreign([tool], given)
        return tool.build(model.to(place), task, batch_words=batch_words, **given)
    except InputError as error:
        raise InputError(f"{checkpoint}: {error}") from None


def import_user_dir(folder: str | Path | None = None):
    """Register everything of this package with fairseq, then import a user folder.

    Args:
        folder: as for ``--user-dir`` of fairseq's commands.

    Raises:
        InputError: the folder does not exist.
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
    """Load a trained language model as a :class:`.LanguageModelScorer`, which scores sentences.

    Args:
        checkpoint, data, options: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or the model is not a language model.
    """
    return load(checkpoint, data, ability="score", **options)


def load_masked_model(checkpoint: str | Path, data: str | Path | None = None, **options):
    """Load a trained masked language model, with or without parser, and its dictionary.

    Args:
        checkpoint, data, options: as for :func:`load`.

    Raises:
        InputError: as for :func:`load`, or the model is not a masked language model.
    """
    tool = load(checkpoint, data, ability="channels", **options)
    return tool.model, tool.vocabulary.words


def _restore(checkpoint: str | Path, data: str | Path | None):
    """Task and model of a checkpoint."""
    from fairseq import checkpoint_utils

    # load_state explains what is wrong with a damaged file; fairseq's loader upgrades old files.
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
    except Exception as error:  # forged options may raise any exception
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
    """Unset the options of files that only training reads; these files may be missing now.

    Classes of tasks and models list these options in ``ONLY_FOR_TRAINING``.
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
    given = vars(options) if isinstance(options, Namespace) else options
    given[name] = False if isinstance(given[name], bool) else None


def made_by(checkpoint: str | Path) -> dict:
    """Describe how a checkpoint was made, for records of results.

    Returns:
        ``model``, the name of the model, and its ``options``; ``seed``; ``epochs``, the planned
        number; ``updates`` so far; ``data``, the folder used in training; ``text``, a summary.

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
