"""A bot for Craft that takes shortest ways."""

from __future__ import annotations

import numpy as np

from fairseq_struct.environments.craft_path_kernels import mark_best_actions
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
    """
    best = np.empty((worlds.count, worlds.options.action_count), bool)
    mark_best_actions(worlds.arrays, np.ascontiguousarray(goals, np.int64), best)
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
