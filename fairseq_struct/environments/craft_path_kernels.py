"""Kernel of the bot of Craft: first steps of all shortest ways to an object."""

import numpy as np

from fairseq_struct.environments.craft_kernels import (
    DONE,
    DOWN_BY,
    FIRST_KIND,
    FREE,
    RIGHT_BY,
    USE,
)
from fairseq_struct.structure.kernels.compiled import compiled, inner

UNKNOWN = -1


@inner
def _faces(cells, row, column, move, goal):
    return cells[row + DOWN_BY[move], column + RIGHT_BY[move]] == goal


@inner
def _has_two_steps(cells, row, column, goal):
    """Whether one move leads to facing the goal, as a turn or as a step."""
    for move in range(4):
        if _faces(cells, row, column, move, goal):
            return True
        r, c = row + DOWN_BY[move], column + RIGHT_BY[move]
        if cells[r, c] == FREE and _faces(cells, r, c, move, goal):
            return True
    return False


@inner
def _measure(cells, goal, steps, queue):
    """Steps from every free cell until the goal is taken, when the agent does not face it yet."""
    size = cells.shape[0]
    last = 0
    steps[:] = UNKNOWN
    for row in range(1, size - 1):
        for column in range(1, size - 1):
            if cells[row, column] == FREE and _has_two_steps(cells, row, column, goal):
                steps[row, column] = 2
                queue[last] = row * size + column
                last += 1
    first = 0
    while first < last:
        row, column = divmod(queue[first], size)
        first += 1
        for move in range(4):
            r, c = row + DOWN_BY[move], column + RIGHT_BY[move]
            if cells[r, c] == FREE and steps[r, c] == UNKNOWN:
                steps[r, c] = steps[row, column] + 1
                queue[last] = r * size + c
                last += 1


@compiled
def mark_best_actions(worlds, goals, best):
    """Mark the actions with which a shortest way to taking an object begins.

    Args:
        worlds: a :class:`.Worlds`.
        goals: (worlds,) the kind of the object; -1 if nothing is to be taken.
        best: (worlds, actions) output, none where no object of the kind can be reached. Where
            nothing is to be taken it is ``done``, if there is such an action.
    """
    size = worlds.cells.shape[1]
    steps, queue = np.empty((size, size), np.int64), np.empty(size * size, np.int64)
    best[:] = False
    for world in range(len(goals)):
        if goals[world] < 0:
            if best.shape[1] > DONE:
                best[world, DONE] = True
            continue
        cells, goal = worlds.cells[world], goals[world] + FIRST_KIND
        row, column = worlds.places[world, 0], worlds.places[world, 1]
        if _faces(cells, row, column, worlds.facing[world], goal):
            best[world, USE] = True
            continue
        _measure(cells, goal, steps, queue)
        nearest = steps[row, column]
        for move in range(4):
            r, c = row + DOWN_BY[move], column + RIGHT_BY[move]
            if nearest == 2:
                turned = cells[r, c] == goal
                best[world, move] = turned or (
                    cells[r, c] == FREE and _faces(cells, r, c, move, goal)
                )
            elif nearest > 2:
                best[world, move] = cells[r, c] == FREE and steps[r, c] == nearest - 1
