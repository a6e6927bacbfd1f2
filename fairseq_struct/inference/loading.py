"""Loads trained models from checkpoints or exports, as the tools that are registered for them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import torch

from fairseq_struct import plugin
from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS
from fairseq_struct.errors import InputError, first_line, unknown_name
from fairseq_struct.inference.registry import (
    ABILITIES,
    BATCH,
    NoTool,
    given_options,
    refuse_foreign,
    tool_for,
    tools_for,
)
from fairseq_struct.inference.restoring import restore
from fairseq_struct.inference.trained_model import TrainedModel

# Abilities of a ``TrainedModel``; the first one that a model has is its main one.
USUAL = ("parse", "classify", "translate", "score", "images", "complete", "rollout")


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

    The :class:`.TrainedModel` parses, classifies, translates, scores or acts, as the model can.
    With an ability, only the tool with this ability is loaded: see :mod:`.registry`. Another
    package may register tools for its own models.

    Args:
        checkpoint: a file that fairseq-train wrote, or a folder that :func:`.export_model` wrote.
        data: folder with the dictionaries; by default the folder used in training, or the one in
            the export.
        ability: purpose of the model, one of ``registry.ABILITIES``, or several, any of which will
            do. By default trees, labels of sentences or images, translations, scores of sentences,
            completions and episodes, all that the model can.
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
    _, task, model, _ = restore(checkpoint, data)
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
    except NoTool as error:
        raise NoTool(f"{checkpoint}: {error.problem}", error.abilities) from None
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
        found = torch.empty(0, device=device or "cpu").device
        if found.type == "meta":  # holds shapes alone
            raise RuntimeError("computes nothing")
        return found
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"--device {device}: {first_line(error) or 'unusable'}") from None


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

    Other loaders give a tool. This one is for the network itself, to call it or to train it on; its
    tools are ``load(checkpoint, ability="parse")`` and ``load(checkpoint, ability="channels")``.

    Args:
        checkpoint, data, options: as for :func:`load`.

    Returns:
        The model and its dictionary.

    Raises:
        InputError: as for :func:`load`, or the model is not a masked language model.
    """
    # All masked models have channels, but not all of them a parser.
    tool = load(checkpoint, data, ability="channels", **options)
    return tool.model, tool.vocabulary.words
