"""Many worlds of Craft at once, as arrays. The rules are in :mod:`.craft_rules`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from fairseq_struct.environments import craft_kernels as kernels
from fairseq_struct.environments.craft_kernels import Task, Worlds, draw_maps, step_worlds
from fairseq_struct.environments.craft_observation_kernels import observe_grid, observe_windows
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_text import draw_text, read_text
from fairseq_struct.errors import InputError


class CraftWorlds:
    """Worlds that act in step, without resetting themselves.

    A world has ended until its first :meth:`reset`.

    Args:
        options: task and maps, the same for all worlds.
        count: number of worlds.
    """

    def __init__(self, options: CraftOptions, count: int):
        self.options, self.count = options, count
        size, kinds = options.size, len(options.kinds)
        shapes = {"cells": (size, size), "places": (2,), "inventory": (kinds,), "left": (kinds,)}
        self.arrays = Worlds(**{
            name: np.zeros((count, *shapes.get(name, ())), np.int32) for name in Worlds._fields
        })  # fmt: skip
        self.arrays.outcome[:] = kernels.CUT
        self._task = _task_of(options)
        first = kernels.FIRST_KIND
        objects = np.repeat(np.arange(first, first + kinds), options.objects_per_kind)
        fixtures = [kernels.WORKSHOP] * options.workshops + [kernels.OBSTACLE] * options.obstacles
        self._contents = np.concatenate([objects, fixtures]).astype(np.int64)
        self._objects = np.full(kinds, options.objects_per_kind, np.int64)
        self._all = np.ones(count, bool)

    @property
    def success(self) -> np.ndarray:
        """(count,) whether the episode ended with all subtasks done."""
        return self.arrays.outcome == kernels.SUCCESS

    @property
    def failed(self) -> np.ndarray:
        """(count,) whether the episode ended because the task can no longer be done."""
        return self.arrays.outcome == kernels.FAILED

    @property
    def ended(self) -> np.ndarray:
        """(count,) whether the episode has ended, by the task or by the time limit."""
        return self.arrays.outcome != kernels.RUNNING

    @property
    def done_subtasks(self) -> np.ndarray:
        """(count,) how many subtasks are done."""
        return self.arrays.done.copy()

    @property
    def steps(self) -> np.ndarray:
        """(count,) steps of the episode so far."""
        return self.arrays.steps.copy()

    @property
    def goals(self) -> np.ndarray:
        """(count,) the kind of the subtask to do next, as a place in ``kinds``; -1 after all."""
        return np.append(self._task.subtasks, -1)[self.arrays.done]

    def reset(self, which: np.ndarray, generators: Sequence[np.random.Generator]) -> None:
        """Begin new episodes on new maps.

        Objects, workshops, obstacles and the agent are put on distinct cells at random, and the
        agent faces a random direction. Every object has a cell beside it that the agent can reach;
        other maps are drawn anew.

        Args:
            which: (n,) numbers of the worlds.
            generators: one for each of them; each gives one number.

        Raises:
            InputError: maps so crowded that none can be solved.
            ValueError: no such worlds, or not as many generators.
        """
        which = np.ascontiguousarray(which, np.int64)
        if len(generators) != len(which) or (which < 0).any() or (which >= self.count).any():
            raise ValueError(f"worlds are 0 to {self.count - 1}, and each needs a generator")
        seeds = [generator.integers(2**63) for generator in generators]
        found = np.zeros(len(which), bool)
        draw_maps(
            self.arrays, which, np.array(seeds, np.uint64), self._contents, self._objects, found
        )
        if not found.all():
            self.arrays.outcome[which] = kernels.CUT
            raise InputError(
                f"size {self.options.size}: the map is too crowded; none of {kernels.MOST_DRAWS} "
                "maps could be solved"
            )

    def set_map(self, index: int, text: str) -> None:
        """Begin a new episode on a given map.

        Args:
            index: number of the world.
            text: a line per row, as :meth:`text` gives them.

        Raises:
            InputError: no such map, or one without the task's objects.
        """
        cells, place, facing = read_text(text, self.options)
        left = [
            (cells == kernels.FIRST_KIND + kind).sum() for kind in range(len(self.options.kinds))
        ]
        for kind, letter in enumerate(self.options.kinds):
            if left[kind] < self._task.needed[0, kind]:
                raise InputError(f"the map has too few {letter} for the task {self.options.task!r}")
        new = Worlds(cells, np.array(place), facing, 0, np.array(left), 0, 0, kernels.RUNNING)
        for array, value in zip(self.arrays, new, strict=True):
            array[index] = value

    def text(self, index: int) -> str:
        """A map as text, a line per row: ``.`` is free, ``#`` boundary, ``o`` an obstacle, ``w`` a
        workshop, a letter of ``kinds`` an object, and one of ``^v<>`` the agent.
        """
        arrays = self.arrays
        place, facing = arrays.places[index], arrays.facing[index]
        return draw_text(arrays.cells[index], place, facing, self.options)

    def step(
        self, actions: np.ndarray, active: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Act in all worlds. Worlds that have ended, or are inactive, stay as they are.

        Args:
            actions: (count,) numbers of actions.
            active: (count,) booleans; None for all.

        Returns:
            (count,) rewards, float32, and whether the episode is terminated, and truncated, by the
            rules of gymnasium. A world that had ended before repeats how; an inactive one has
            False.

        Raises:
            ValueError: a number that is none of an action, or not an integer.
        """
        if np.asarray(actions).dtype.kind not in "iu":
            raise ValueError(f"actions must be integers, not {actions!r}")
        actions = np.ascontiguousarray(actions, np.int64)
        active = self._all if active is None else np.ascontiguousarray(active, bool)
        if actions.shape != (self.count,) or active.shape != (self.count,):
            raise ValueError(f"there must be one action for each of {self.count} worlds")
        if actions.min() < 0 or actions.max() >= self.options.action_count:
            raise ValueError(f"actions are 0 to {self.options.action_count - 1}")
        rewards = np.empty(self.count, np.float32)
        terminated, truncated = np.empty((2, self.count), bool)
        step_worlds(self.arrays, self._task, actions, active, rewards, terminated, truncated)
        return rewards, terminated, truncated

    def observe(self, out: np.ndarray | None = None) -> np.ndarray:
        """What each agent observes; see :meth:`.CraftOptions.layout`.

        Args:
            out: (count, observation_size) float32 to write into, contiguous.

        Returns:
            ``out``, or a new array of that shape.

        Raises:
            ValueError: another array.
        """
        shape = self.count, self.options.observation_size
        out = np.empty(shape, np.float32) if out is None else out
        if out.shape != shape:
            raise ValueError(f"observations have the shape {shape}, not {out.shape}")
        if out.dtype != np.float32 or not out.flags.c_contiguous:
            raise ValueError("observations are written into a contiguous array of float32")
        kernel = observe_windows if self.options.observation == "windows" else observe_grid
        kernel(self.arrays, len(self.options.channels), out)
        return out

    def state(self) -> dict[str, np.ndarray]:
        """A copy of everything, for :meth:`load_state`."""
        return {name: array.copy() for name, array in self.arrays._asdict().items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a :meth:`state` of as many worlds with these options.

        Raises:
            InputError: a state of other worlds, or numbers that no world has.
        """
        for name, array in self.arrays._asdict().items():
            if name not in state or np.shape(state[name]) != array.shape:
                raise InputError(f"a state of other worlds of Craft: {name} does not fit")
        given = Worlds(*(np.asarray(state[name]) for name in Worlds._fields))
        self._check(given)
        for name, array in self.arrays._asdict().items():
            array[:] = state[name]

    def _check(self, given: Worlds) -> None:
        """Refuse numbers with which kernels would leave their arrays."""
        kinds, size = len(self.options.kinds), self.options.size
        most = {
            "cells": kernels.FIRST_KIND + kinds - 1, "places": size - 2, "facing": 3,
            "done": len(self.options.task), "outcome": kernels.CUT,
        }  # fmt: skip
        for name, values in given._asdict().items():
            whole, highest = values.dtype.kind in "iu", most.get(name, np.iinfo(np.int32).max)
            if not whole or values.min(initial=0) < 0 or values.max(initial=0) > highest:
                raise InputError(f"a state of other worlds of Craft: {name} does not fit")
        ring = np.ones((size, size), bool)
        ring[1:-1, 1:-1] = False
        begun = given.cells.any((1, 2))  # worlds that were never reset are empty
        if ((given.cells == kernels.BOUNDARY) != ring)[begun].any():
            raise InputError("a state of other worlds of Craft: cells does not fit")
        if (given.outcome[~begun] == kernels.RUNNING).any() or (given.places[begun] < 1).any():
            raise InputError("a state of other worlds of Craft: places does not fit")


def _task_of(options: CraftOptions) -> Task:
    places = range(len(options.task) + 1)
    counts = [Counter(options.task[done:]) for done in places]
    needed = [[count[kind] for kind in options.kinds] for count in counts]
    return Task(
        np.array(options.subtasks, np.int64), np.array(needed, np.int64),
        options.reward == "dense", options.done_action, options.time_limit,
    )  # fmt: skip
