"""A bot for Craft that takes shortest ways."""

from __future__ import annotations

import numpy as np

from fairseq_struct.environments.craft_path_kernels import mark_best_actions
from fairseq_struct.environments.craft_rules import OBSERVATIONS, CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds


def best_actions(worlds: CraftWorlds, goals: np.ndarray) -> np.ndarray:
    """The actions with which a shortest way to an object begins: to facing it, and ``use``.

    A way to the next object of a kind is shortest, not the way of a whole task.

    Args:
        worlds: the worlds.
        goals: (count,) the kind to take, as a place in ``kinds``. -1 if nothing is to be taken:
            then ``done`` is best, if there is such an action.

    Returns:
        (count, actions) booleans, none where no such object can be reached.

    Raises:
        ValueError: not one goal for each world.
    """
    best = np.empty((worlds.count, worlds.options.action_count), bool)
    goals = np.ascontiguousarray(goals, np.int64)
    if goals.shape != (worlds.count,):
        raise ValueError(f"there must be one goal for each of {worlds.count} worlds")
    mark_best_actions(worlds.arrays, goals, best)
    return best


def draw_actions(best: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one of the best actions in each world, each with the same probability.

    Args:
        best: (count, actions) booleans.
        generator: of the draws; it gives as many numbers as ``best`` has.

    Returns:
        (count,) actions; 0 where none is best.
    """
    return np.where(best, generator.random(best.shape), -1.0).argmax(1)


def compile_kernels() -> None:
    """Call all kernels of Craft once, so that they are compiled."""
    generator = np.random.default_rng(1)
    for observation in OBSERVATIONS:
        worlds = CraftWorlds(CraftOptions(observation=observation), 1)
        worlds.reset(np.arange(1), [generator])
        worlds.observe()
        worlds.step(draw_actions(best_actions(worlds, worlds.goals), generator))
