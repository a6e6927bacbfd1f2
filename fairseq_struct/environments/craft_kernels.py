"""Kernels of Craft: maps are drawn, and agents act, in many worlds at once."""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.kernels.compiled import compiled, inner
from fairseq_struct.structure.kernels.random_kernels import uniform

# What a cell holds: these, and from FIRST_KIND on the objects.
FREE, BOUNDARY, OBSTACLE, WORKSHOP, FIRST_KIND = range(5)
# How an episode is, or ended.
RUNNING, SUCCESS, FAILED, CUT = range(4)
# The first four actions are moves; these are the changes of row and column.
DOWN_BY, RIGHT_BY = (-1, 1, 0, 0), (0, 0, -1, 1)
USE, DONE = 4, 5
# Maps are drawn anew until one can be solved, but not for ever.
MOST_DRAWS = 10_000


class Worlds(NamedTuple):
    """The state of many worlds, which kernels change.

    Args:
        cells: (worlds, size, size) what each cell holds.
        places: (worlds, 2) row and column of the agent.
        facing: (worlds,) its direction, the number of a move.
        inventory: (worlds, kinds) objects that it has.
        left: (worlds, kinds) objects that lie on the map.
        done: (worlds,) subtasks done.
        steps: (worlds,) steps made.
        outcome: (worlds,) ``RUNNING``, or how the episode ended.
    """

    cells: np.ndarray
    places: np.ndarray
    facing: np.ndarray
    inventory: np.ndarray
    left: np.ndarray
    done: np.ndarray
    steps: np.ndarray
    outcome: np.ndarray


class Task(NamedTuple):
    """What is to be done.

    Args:
        subtasks: (n,) kinds in order.
        needed: (n + 1, kinds) objects that are still needed after so many subtasks.
        dense: whether every subtask is paid, or only the last.
        done_action: whether only this action ends an episode.
        time_limit: steps after which an episode is cut.
    """

    subtasks: np.ndarray
    needed: np.ndarray
    dense: bool
    done_action: bool
    time_limit: int


@inner
def _mark_reached(cells, row, column, reached, queue):
    """Mark the free cells that can be reached from one."""
    size = cells.shape[0]
    reached[:] = False
    reached[row, column] = True
    queue[0] = row * size + column
    first, last = 0, 1
    while first < last:
        row, column = divmod(queue[first], size)
        first += 1
        for move in range(4):
            r, c = row + DOWN_BY[move], column + RIGHT_BY[move]
            if cells[r, c] == FREE and not reached[r, c]:
                reached[r, c] = True
                queue[last] = r * size + c
                last += 1


@inner
def _can_be_solved(cells, reached):
    """Whether every object has a reached cell beside it."""
    size = cells.shape[0]
    for row in range(1, size - 1):
        for column in range(1, size - 1):
            if cells[row, column] < FIRST_KIND:
                continue
            beside = reached[row - 1, column] or reached[row + 1, column]
            if not (beside or reached[row, column - 1] or reached[row, column + 1]):
                return False
    return True


@inner
def _scatter(cells, contents, places, state):
    """Draw distinct cells for ``contents`` and, after them, for the agent, whose cell it returns.

    ``places`` holds each inner cell once, in any order.
    """
    inside = cells.shape[0] - 2
    cells[1 : inside + 1, 1 : inside + 1] = FREE
    for number in range(len(contents) + 1):
        drawn = number + int(uniform(state) * (len(places) - number))
        places[number], places[drawn] = places[drawn], places[number]
        row, column = divmod(places[number], inside)
        if number < len(contents):
            cells[row + 1, column + 1] = contents[number]
    return row + 1, column + 1


@compiled
def draw_maps(worlds, which, seeds, contents, counts, found):
    """Begin an episode on a new map.

    Args:
        worlds: a :class:`Worlds`.
        which: (n,) the worlds.
        seeds: (n,) of their maps; overwritten.
        contents: (m,) what is put on distinct cells.
        counts: (kinds,) how many objects of each kind are among it.
        found: (n,) output, False where no map that can be solved was found.
    """
    size = worlds.cells.shape[1]
    places = np.empty((size - 2) ** 2, np.int64)
    queue = np.empty(size * size, np.int64)
    reached = np.empty((size, size), np.bool_)
    for number in range(len(which)):
        world, state = which[number], seeds[number : number + 1]
        cells = worlds.cells[world]
        for place in range(len(places)):
            places[place] = place
        cells[:] = BOUNDARY
        found[number] = False
        for _ in range(MOST_DRAWS):
            row, column = _scatter(cells, contents, places, state)
            _mark_reached(cells, row, column, reached, queue)
            if _can_be_solved(cells, reached):
                found[number] = True
                break
        worlds.places[world, 0], worlds.places[world, 1] = row, column
        worlds.facing[world] = int(uniform(state) * 4)
        worlds.inventory[world] = 0
        worlds.left[world] = counts
        worlds.done[world] = worlds.steps[world] = 0
        worlds.outcome[world] = RUNNING


@inner
def _take(worlds, world, task, row, column):
    """Take the object on a cell; return the reward."""
    kind = worlds.cells[world, row, column] - FIRST_KIND
    worlds.cells[world, row, column] = FREE
    worlds.inventory[world, kind] += 1
    worlds.left[world, kind] -= 1
    done = worlds.done[world]
    if done == len(task.subtasks) or task.subtasks[done] != kind:
        return 0.0
    worlds.done[world] = done + 1
    return 1.0 if task.dense or done + 1 == len(task.subtasks) else 0.0


@inner
def _act(worlds, world, task, action):
    """Act in one world; return the reward."""
    if action == DONE:
        return 0.0
    cells = worlds.cells[world]
    row, column = worlds.places[world, 0], worlds.places[world, 1]
    if action < USE:
        worlds.facing[world] = action
    facing = worlds.facing[world]
    row, column = row + DOWN_BY[facing], column + RIGHT_BY[facing]
    if action == USE:
        return _take(worlds, world, task, row, column) if cells[row, column] >= FIRST_KIND else 0.0
    if cells[row, column] == FREE:
        worlds.places[world, 0], worlds.places[world, 1] = row, column
    return 0.0


@inner
def _outcome(worlds, world, task, action):
    """How the episode is after an action."""
    done = worlds.done[world]
    complete = done == len(task.subtasks)
    if task.done_action:
        if action == DONE:
            return SUCCESS if complete else FAILED
    elif complete:
        return SUCCESS
    else:
        for kind in range(task.needed.shape[1]):
            if worlds.left[world, kind] < task.needed[done, kind]:
                return FAILED
    return CUT if worlds.steps[world] >= task.time_limit else RUNNING


@compiled
def step_worlds(worlds, task, actions, active, rewards, terminated, truncated):
    """Act in all active worlds; those whose episode has ended stay as they are.

    Args:
        worlds: a :class:`Worlds`.
        task: a :class:`Task`.
        actions: (worlds,) numbers of actions.
        active: (worlds,) booleans.
        rewards, terminated, truncated: (worlds,) outputs; 0 and False in worlds that are inactive.
    """
    for world in range(len(actions)):
        rewards[world] = 0.0
        terminated[world] = truncated[world] = False
        if not active[world]:
            continue
        if worlds.outcome[world] == RUNNING:
            rewards[world] = _act(worlds, world, task, actions[world])
            worlds.steps[world] += 1
            worlds.outcome[world] = _outcome(worlds, world, task, actions[world])
        outcome = worlds.outcome[world]
        terminated[world] = outcome == SUCCESS or outcome == FAILED
        truncated[world] = outcome == CUT
