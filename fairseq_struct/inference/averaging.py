"""Averages of the checkpoints of a training, and which of its checkpoints to average."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_struct import compat
from fairseq_struct.errors import InputError
from fairseq_struct.files.checkpoint_file import options_of, parameters_of
from fairseq_struct.files.checkpoint_names import KEPT
from fairseq_struct.files.trained_words import same_words
from fairseq_struct.option_checks import option_name

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

KEEPING_OPTION = {
    "epochs": "--keep-last-epochs, after a preset with --epoch-checkpoints, too",
    "updates": "--keep-interval-updates",
    "best": "--keep-best-checkpoints",
}
SELECTING_OPTION = {"epochs": "--by epochs", "updates": "--by updates", "best": "--best"}
# Options that are the same in all checkpoints of a training: their groups and names.
OF_TRAININGS = (("common", "seed"), ("checkpoint", "save_dir"))


def average_checkpoints(paths: Sequence[str | Path], progress: bool = False) -> dict[str, Any]:
    """Average checkpoints of the same architecture.

    Every floating-point parameter becomes its arithmetic mean, summed in float32 (float64 for
    float64) and cast back. Integer buffers and everything outside the model come from the last
    checkpoint. The optimizer's state is dropped, because it does not fit the averaged model.
    Checkpoints of several trainings, as their seeds and folders tell, are averaged with a warning.

    Args:
        paths: the files, oldest first.
        progress: show a progress bar on a terminal.

    Returns:
        A checkpoint that fairseq loads like any other.

    Raises:
        InputError: there are no paths; a file is unreadable, unsafe or not a checkpoint; or the
            models differ in the name or shape of a parameter, in their dictionaries, or in what
            they say about themselves.
    """
    import torch
    from tqdm import tqdm

    if not paths:
        raise InputError("no checkpoints to average")
    sums: dict[str, torch.Tensor] = {}
    shapes = told = None
    moved = len({Path(path).parent for path in paths}) == 1
    for path in tqdm(paths, desc="averaging", disable=None if progress else True):
        state = compat.load_state(path)
        model = parameters_of(state, path)
        if shapes is None:
            # Kept to compare with the next checkpoints; the values change, the shapes do not.
            shapes = {name: tuple(value.shape) for name, value in model.items()}
            words = state.get("task_state")
            training = _training_of(state)
            texts = {name: value for name, value in model.items() if value.dtype == torch.uint8}
        _check_same(model, path, shapes, paths[0])
        for name, value in texts.items():  # facts, such as what demonstrations were of
            if not torch.equal(model[name], value):
                raise InputError(f"{path}: has another {name!r} than {paths[0]}")
        if not same_words(state.get("task_state"), words):
            raise InputError(f"{path}: trained with other dictionaries than {paths[0]}")
        if told is None and (other := _differing(_training_of(state), training, moved)):
            told = f"{path}: is of another training than {paths[0]}, by its {other}"
        for name, value in model.items():
            if value.is_floating_point():
                wide = value.to(torch.promote_types(value.dtype, torch.float32))
                if name in sums:
                    sums[name] += wide
                else:  # a copy, because tied parameters share one tensor
                    sums[name] = wide.clone()
    if told is not None:  # below the bar
        logger.warning(told)
    state["model"] = _means(model, sums, len(paths))
    state.pop("last_optimizer_state", None)
    # The moving average of the last checkpoint does not belong to the averaged model.
    extra = state.get("extra_state")
    state["extra_state"] = {
        name: value
        for name, value in (extra if isinstance(extra, dict) else {}).items()
        if not str(name).startswith("ema")
    }
    return state


def checkpoints_of(
    directory: str | Path, count: int, by: str = "epochs", upper_bound: int | None = None
) -> list[Path]:
    """Find the newest or the best checkpoints of a training run.

    Args:
        directory: the ``--save-dir`` of the training run.
        count: number of checkpoints.
        by: ``epochs``, ``updates`` or ``best``.
        upper_bound: leave out checkpoints newer than this epoch or update.

    Returns:
        Their paths; newest or best last.

    Raises:
        InputError: the directory does not exist or has fewer checkpoints.
    """
    directory = Path(directory)
    if count < 1:
        raise InputError(f"the number of checkpoints must be 1 or more, not {count}")
    if not directory.is_dir():
        raise InputError(f"{directory}: no such folder")
    found = _kept(directory, by)
    if upper_bound is not None:
        found = [(number, name) for number, name in found if number <= upper_bound]
    if len(found) < count:
        bound = "" if upper_bound is None else f" up to {upper_bound}"
        others = {other: len(_kept(directory, other)) for other in KEPT if other != by}
        told = [f" and {number} by {other} ({SELECTING_OPTION[other]})"
                for other, number in others.items() if number >= count]  # fmt: skip
        raise InputError(
            f"{directory}: has {len(found)} checkpoints by {by}{bound}{''.join(told)}, but {count} "
            f"are needed; fairseq-train keeps them with {KEEPING_OPTION[by]}"
        )
    if by == "best" and not _maximizes(directory / found[0][1]):
        found.reverse()
    return [directory / name for _, name in found[-count:]]


def _kept(directory: Path, by: str) -> list[tuple[float, str]]:
    """The number and the name of each checkpoint of one kind, in order."""
    matches = [KEPT[by].fullmatch(path.name) for path in directory.iterdir()]
    return sorted((float(match.group(1)), match.string) for match in matches if match)


def _training_of(state: dict[str, Any]) -> dict[str, Any]:
    """What tells one training from another: the options that the checkpoint has."""
    groups = {group: (state.get("cfg") or {}).get(group) for group, _ in OF_TRAININGS}
    return {name: groups[group][name] for group, name in OF_TRAININGS
            if isinstance(groups[group], Mapping) and name in groups[group]}  # fmt: skip


def _differing(some: dict[str, Any], others: dict[str, Any], moved: bool) -> str | None:
    """The option in which two trainings differ; of one folder, it may have been ``moved`` since."""
    for _, name in OF_TRAININGS:
        if name not in some or name not in others or (moved and name == "save_dir"):
            continue
        one, other = some[name], others[name]
        # Older versions stored paths as they were given, so that they may be relative.
        paths = name == "save_dir" and os.path.isabs(str(one)) != os.path.isabs(str(other))
        if one != other and not paths:
            return option_name(name)
    return None


def _check_same(
    model: dict[str, torch.Tensor], path: str | Path, shapes: dict[str, tuple], first: str | Path
) -> None:
    for name, shape in shapes.items():
        if name not in model:
            raise InputError(f"{path}: has no parameter {name!r}, unlike {first}")
        if tuple(model[name].shape) != shape:
            raise InputError(
                f"{path}: parameter {name!r} has the shape {tuple(model[name].shape)},"
                f" but {shape} in {first}"
            )
    for name in model:
        if name not in shapes:
            raise InputError(f"{path}: has a parameter {name!r}, unlike {first}")


def _means(
    model: dict[str, torch.Tensor], sums: dict[str, torch.Tensor], count: int
) -> dict[str, torch.Tensor]:
    means = type(model)(model)
    first_with: dict[tuple, str] = {}
    for name, total in sums.items():
        value = model[name]
        mean = (total / count).to(value.dtype)
        # Tied parameters, such as embedding and output layer, stay one tensor in the new file.
        twin = first_with.setdefault((value.data_ptr(), value.shape, value.stride()), name)
        means[name] = means[twin] if twin != name and mean.equal(means[twin]) else mean
    return means


def _maximizes(path: Path) -> bool:
    state, name = compat.load_state(path), "maximize_best_checkpoint_metric"
    if not state.get("cfg"):
        return bool(getattr(state.get("args"), name, False))
    return bool(options_of(state, path, "checkpoint")["checkpoint"].get(name))
