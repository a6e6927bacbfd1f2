"""The prepared folder for ``--task craft_imitation``.

::

    OUT/data-bin/craft.json                 the tasks, and the options of their environment
    OUT/data-bin/PART.demonstrations.npy    (n, 2) task and steps of each demonstration
    OUT/data-bin/PART.observations.npy      (steps, size) what was observed before each step
    OUT/data-bin/PART.steps.npy             (steps, 3) action, subtask, and whether it ends there
    OUT/manifest.json                       options and counts

The parts are ``train`` and ``valid``. All steps of a part are in one array, demonstration by
demonstration. Subtasks and their ends are for scores, not for training.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fairseq_struct.data.generators.craft_demonstrations import (
    DrawnDemonstrations,
    draw_demonstrations,
)
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.errors import InputError
from fairseq_struct.files.arrays import read_array
from fairseq_struct.files.text_files import json_file

OPTIONS = "craft.json"
# What demonstrations do not depend on, or what differs between them.
NOT_SHARED = ("task", "reward")


def write_demonstration_folder(
    tasks: Sequence[CraftOptions], out: str | Path, number: int, seed: int = 1, *,
    overwrite: bool = False, say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Draw demonstrations, write them, and return the folder's manifest.

    Args:
        tasks: environments, of which only the tasks differ, and all of them do.
        out: folder to make; it appears complete or not at all.
        number: demonstrations of each task; one in five is for validation.
        seed: of all draws.
        overwrite: replace a folder made with other options; it must have no other files.
        say: called with progress messages.

    Raises:
        InputError: no tasks, or one of them twice; too few maps; or ``out`` holds something else.
    """
    names = [options.task for options in tasks]
    if not names or len(set(names)) < len(names):
        raise InputError(f"tasks {','.join(names)!r}: must be different ones, at least one")
    shared = _shared(tasks[0])

    def fill(folder: Path) -> dict:
        data = folder / "data-bin"
        data.mkdir()
        text = json.dumps({"tasks": names, "options": shared}, indent=2)
        (data / OPTIONS).write_text(f"{text}\n", encoding="utf-8")
        parts = draw_demonstrations(tasks, number, seed, say)
        for name, part in parts.items():
            _write_part(data, name, part)
        return {
            "demonstrations": {name: len(part.tasks) for name, part in parts.items()},
            "steps": {name: len(part.actions) for name, part in parts.items()},
        }

    options = {"tasks": names, "number": number, "seed": seed, **shared}
    identity = {"preparation": "demonstrations of Craft", "options": options}
    return write_prepared_folder(
        out, identity, fill, generator=draw_demonstrations.__module__, overwrite=overwrite, say=say
    )


def read_tasks(data: str | Path) -> list[CraftOptions]:
    """The environments of a folder's demonstrations, one for each task, in their order.

    Args:
        data: the folder ``data-bin``.

    Raises:
        InputError: the file is missing or damaged.
    """
    path = Path(data) / OPTIONS
    if not path.is_file():
        raise InputError(f"{path}: no such file; fairseq-struct prepare craft_demonstrations "
                         "makes such folders")  # fmt: skip
    with json_file(path) as content:
        names, shared = content["tasks"], dict(content["options"])
        if not isinstance(names, list) or not names or len(set(names)) < len(names):
            raise ValueError
    return [CraftOptions.from_dict(shared | {"task": name}, str(path)) for name in names]


def read_part(
    data: str | Path, name: str, tasks: Sequence[CraftOptions] | None = None
) -> DrawnDemonstrations:
    """Read a part of a folder; the observations stay on the disk until they are used.

    Args:
        data: the folder ``data-bin``.
        name: of the part.
        tasks: what :func:`read_tasks` returns; None to read it.

    Raises:
        InputError: a file is missing or damaged, or does not fit the others.
    """
    tasks = read_tasks(data) if tasks is None else tasks
    paths = _paths(Path(data), name)
    missing = f"there is no part {name!r}"
    demonstrations = _read(paths["demonstrations"], 2, np.int32, missing=missing)
    steps = _read(paths["steps"], 3, np.uint8)
    observations = _read(paths["observations"], tasks[0].observation_size, np.uint8, "r")
    found = DrawnDemonstrations(*demonstrations.T, observations, *steps.T)
    problem = _problem(found, tasks)
    if problem:
        raise InputError(f"{data}: the part {name} is damaged ({problem}); prepare the data again")
    return found


def _shared(options: CraftOptions) -> dict:
    return {name: value for name, value in options.to_dict().items() if name not in NOT_SHARED}


def _paths(data: Path, part: str) -> dict[str, Path]:
    kinds = ("demonstrations", "observations", "steps")
    return {kind: data / f"{part}.{kind}.npy" for kind in kinds}


def _write_part(data: Path, name: str, part: DrawnDemonstrations):
    paths = _paths(data, name)
    np.save(paths["demonstrations"], np.stack([part.tasks, part.lengths], 1).astype(np.int32))
    np.save(paths["observations"], part.observations)
    np.save(paths["steps"], np.stack([part.actions, part.subtasks, part.boundaries], 1))


def _read(path: Path, width: int, kind: type, mode: str | None = None, **more) -> np.ndarray:
    def fits(shape: tuple[int, ...]) -> bool:
        return len(shape) == 2 and shape[0] > 0

    found = read_array(path, kind, fits, mode=mode, **more)
    if found.shape[1] != width:
        raise InputError(f"{path}: rows of {found.shape[1]} numbers, but {OPTIONS} says {width}")
    return found


def _problem(found: DrawnDemonstrations, tasks: Sequence[CraftOptions]) -> str | None:
    """What cannot be true of these tasks' demonstrations."""
    options = tasks[0]
    if found.tasks.min() < 0 or found.tasks.max() >= len(tasks):
        return "a task that does not exist"
    total = found.lengths.sum(dtype=np.int64)
    if found.lengths.min() < 1 or total != len(found.actions) or total != len(found.observations):
        return "the number of steps"
    if found.actions.max() >= options.action_count:
        return "an action that does not exist"
    if found.subtasks.max() >= len(options.kinds):
        return "a subtask that does not exist"
    wanted = [options.subtasks for options in tasks]
    expected = np.concatenate([wanted[task] for task in found.tasks])
    owners = np.repeat(np.arange(len(found.tasks)), found.lengths)
    ends = found.boundaries == 1
    counts = np.bincount(owners[ends], minlength=len(found.tasks))
    if found.boundaries.max() > 1 or (counts != [len(wanted[task]) for task in found.tasks]).any():
        return "the number of subtasks"
    return None if (found.subtasks[ends] == expected).all() else "a subtask"
