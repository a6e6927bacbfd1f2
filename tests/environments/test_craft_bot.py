"""The bot solves every task, and no way is shorter than its own."""

from itertools import permutations

import numpy as np
import pytest

from fairseq_struct.environments.craft_bot import best_actions, draw_actions
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds

TASKS = ["".join(letters) for n in (1, 2, 3, 4) for letters in permutations("ABCD", n)]
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def begin(options, count, seed=1):
    worlds = CraftWorlds(options, count)
    generator = np.random.default_rng(seed)
    worlds.reset(np.arange(count), [generator] * count)
    return worlds, generator


def test_it_solves_every_task_on_a_thousand_maps():
    assert len(TASKS) == 64
    for number, task in enumerate(TASKS):
        worlds, generator = begin(CraftOptions(task), 1000, number)
        while not worlds.ended.all():
            worlds.step(draw_actions(best_actions(worlds, worlds.goals), generator))
        assert worlds.success.all()


@pytest.mark.parametrize(
    "options",
    [
        CraftOptions("DCA"),
        CraftOptions("DCA", 8, "ACD", obstacles=14, workshops=2),
        CraftOptions("CAAC", 9, "AC", objects_per_kind=3, obstacles=9),
    ],
)
def test_no_way_is_shorter_and_all_shortest_ways_are_known(options):
    worlds, generator = begin(options, 100)
    while not worlds.ended.all():
        best = best_actions(worlds, worlds.goals)
        for index in np.flatnonzero(~worlds.ended):
            goal = options.kinds[worlds.goals[index]]
            assert best[index].tolist() == first_actions(worlds.text(index), goal)
        worlds.step(draw_actions(best, generator))
    assert worlds.success.mean() > 0.9  # a few ways around many obstacles are too long


def first_actions(text, goal):
    """Whether each action begins a shortest way, by breadth-first search after each of them."""
    cells = {(r, c): s for r, line in enumerate(text.split("\n")) for c, s in enumerate(line)}
    (start,) = ((place, "^v<>".index(s)) for place, s in cells.items() if s in "^v<>")
    cells[start[0]] = "."
    before = ahead(*start)
    lengths = [search(cells, moved(cells, start, move), goal) for move in range(4)]
    lengths.append(0 if cells[before] == goal else np.inf)
    return [length == min(lengths) < np.inf for length in lengths]


def search(cells, start, goal):
    """Steps until the goal has been taken."""
    layer, seen, steps = {start}, set(), 1
    while layer:
        if any(cells[ahead(*state)] == goal for state in layer):
            return steps
        seen |= layer
        layer = {moved(cells, state, move) for state in layer for move in range(4)} - seen
        steps += 1
    return np.inf


def ahead(place, facing):
    return place[0] + MOVES[facing][0], place[1] + MOVES[facing][1]


def moved(cells, state, move):
    new = ahead(state[0], move)
    return (new if cells[new] == "." else state[0]), move


def test_ties_are_drawn_with_equal_probability():
    best = np.tile([True, False, True, True, False], (3000, 1))
    drawn = draw_actions(best, np.random.default_rng(1))
    counts = np.bincount(drawn, minlength=5)
    assert counts[[1, 4]].tolist() == [0, 0] and counts[[0, 2, 3]].min() > 900


def test_nothing_is_best_where_nothing_can_be_reached_and_done_where_all_is_done():
    text = "#####\n#A>B#\n#...#\n#...#\n#####"
    for done_action in (False, True):
        worlds = CraftWorlds(CraftOptions("A", 5, "ABC", done_action=done_action), 1)
        worlds.set_map(0, text)
        assert not best_actions(worlds, np.array([2])).any()
        finished = best_actions(worlds, np.array([-1]))[0]
        assert finished.tolist() == [False] * 5 + [True] * done_action
