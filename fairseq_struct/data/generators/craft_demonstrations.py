"""Demonstrations of tasks in Craft, by a bot that takes shortest ways, ties drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from fairseq_struct.environments.craft_bot import best_actions, draw_actions
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid")
# One in so many demonstrations of each task is for validation.
VALID_IS_ONE_IN = 5
# Worlds drawn at once: at most so many, which bounds the memory, and at least so many, so that
# PATIENCE draws without a map to keep mean that there seem to be none.
AT_ONCE, LEAST_AT_ONCE, PATIENCE = 4096, 100, 100


class DrawnDemonstrations(NamedTuple):
    """Demonstrations, one after the other.

    Args:
        tasks: (n,) number of each demonstration's task.
        lengths: (n,) its steps.
        observations: (steps, size) what was observed before each step.
        actions: (steps,) what was done.
        subtasks: (steps,) the kind to collect, as a place in ``kinds``; a last step ``done``
            belongs to the last subtask.
        boundaries: (steps,) 1 at the last step of each subtask, which is its ``use``.
    """

    tasks: np.ndarray
    lengths: np.ndarray
    observations: np.ndarray
    actions: np.ndarray
    subtasks: np.ndarray
    boundaries: np.ndarray


def draw_demonstrations(
    tasks: Sequence[CraftOptions], number: int, seed: int,
    say: Callable[[str], None] = lambda message: None,
) -> dict[str, DrawnDemonstrations]:  # fmt: skip
    """Draw demonstrations of every task, 80 % for training and 20 % for validation.

    No map of the training part (objects, the agent's place and direction) is in the validation
    part. Maps on which the bot needs more than ``time_limit`` steps are left out.

    Args:
        tasks: environments, of which only the tasks differ.
        number: demonstrations of each task, at least 5.
        seed: of all draws.
        say: called with progress messages.

    Returns:
        The parts, ``train`` and ``valid``.

    Raises:
        InputError: too few demonstrations for two parts, or too few different maps.
    """
    if number < VALID_IS_ONE_IN:
        raise InputError(f"there must be {VALID_IS_ONE_IN} demonstrations of a task, or more")
    valid = number // VALID_IS_ONE_IN
    counts, known, parts = {"valid": valid, "train": number - valid}, set(), {}
    for split, count in counts.items():
        drawn, maps = [], set()
        for place, options in enumerate(tasks):
            say(f"drawing {count} demonstrations of {options.task} for the part {split}")
            random = np.random.default_rng([seed, SPLITS.index(split), place])
            drawn += _of_task(options, place, count, random, known, maps)
        known = maps
        parts[split] = _joined(drawn)
    return {split: parts[split] for split in SPLITS}


def _of_task(
    options: CraftOptions, place: int, count: int, random: np.random.Generator,
    forbidden: Collection[bytes], maps: set[bytes],
) -> list[DrawnDemonstrations]:  # fmt: skip
    """Draw demonstrations of one task; add their maps to ``maps``."""
    drawn, missing, missed = [], count, 0
    while missing:
        worlds = CraftWorlds(options, min(max(missing, LEAST_AT_ONCE), AT_ONCE))
        worlds.reset(np.arange(worlds.count), [random] * worlds.count)
        own = maps_of(worlds)
        found = _demonstrate(worlds, place, random)
        keep = worlds.success & [one not in forbidden for one in own]
        keep &= keep.cumsum() <= missing
        drawn.append(_chosen(found, keep))
        maps.update(one for one, kept in zip(own, keep, strict=True) if kept)
        missing -= int(keep.sum())
        missed = 0 if keep.any() else missed + 1
        if missed == PATIENCE:
            raise InputError(
                f"size {options.size}: there are too few maps on which {options.task} takes at "
                f"most {options.time_limit} steps; draw fewer demonstrations, or make the maps "
                "larger or the time limit longer"
            )
    return drawn


def maps_of(worlds: CraftWorlds) -> list[bytes]:
    """What makes each world's map: objects, the agent's place, and its direction."""
    state = worlds.state()
    parts = (state[name].reshape(worlds.count, -1) for name in ("cells", "places", "facing"))
    return [row.tobytes() for row in np.concatenate(list(parts), axis=1).astype(np.int32)]


def _demonstrate(
    worlds: CraftWorlds, place: int, random: np.random.Generator
) -> DrawnDemonstrations:
    """Run the bot in all worlds until they end."""
    last = worlds.options.subtasks[-1]
    steps, lasting = [], []
    while not worlds.ended.all():
        lasting.append(~worlds.ended)
        goals, done = worlds.goals, worlds.done_subtasks
        observed = worlds.observe().astype(np.uint8)
        actions = draw_actions(best_actions(worlds, goals), random)
        worlds.step(actions)
        subtasks = np.where(goals < 0, last, goals)
        boundaries = worlds.done_subtasks > done
        steps.append((observed, *(a.astype(np.uint8) for a in (actions, subtasks, boundaries))))
    real = np.stack(lasting, 1)
    fields = (np.stack(field, 1)[real] for field in zip(*steps, strict=True))
    return DrawnDemonstrations(np.full(worlds.count, place), real.sum(1), *fields)


def _chosen(drawn: DrawnDemonstrations, keep: np.ndarray) -> DrawnDemonstrations:
    rows = np.repeat(keep, drawn.lengths)
    per_step = (field[rows] for field in drawn[2:])
    return DrawnDemonstrations(drawn.tasks[keep], drawn.lengths[keep], *per_step)


def _joined(drawn: Sequence[DrawnDemonstrations]) -> DrawnDemonstrations:
    return DrawnDemonstrations(*map(np.concatenate, zip(*drawn, strict=True)))
