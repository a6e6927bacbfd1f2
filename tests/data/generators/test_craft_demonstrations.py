"""Demonstrations in Craft: what they hold, and how they are split."""

import numpy as np
import pytest

from fairseq_struct.data.generators.craft_demonstrations import draw_demonstrations, maps_of
from fairseq_struct.environments.craft_rules import ACTIONS, CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.errors import InputError

USE, DONE = len(ACTIONS) - 1, len(ACTIONS)


def options_of(tasks, **shared):
    return [CraftOptions(task, **shared) for task in tasks.split(",")]


def demonstrations(part):
    """The steps of each demonstration, by field."""
    bounds = np.concatenate([[0], np.cumsum(part.lengths)])
    for first, last in zip(bounds, bounds[1:], strict=False):
        yield [field[first:last] for field in part[2:]]


@pytest.mark.parametrize("done_action", [False, True])
def test_every_demonstration_does_its_task_in_order(done_action):
    tasks = options_of("AC,CDA,B", done_action=done_action, obstacles=3)
    parts = draw_demonstrations(tasks, 50, seed=1)
    assert [len(parts[part].tasks) for part in ("train", "valid")] == [120, 30]
    for part in parts.values():
        assert np.bincount(part.tasks).tolist() == [len(part.tasks) // 3] * 3
        for task, (observed, actions, subtasks, ends) in zip(
            part.tasks, demonstrations(part), strict=True
        ):
            options = tasks[task]
            assert subtasks[ends == 1].tolist() == list(options.subtasks)
            assert (actions[ends == 1] == USE).all() and (actions == USE).sum() == ends.sum()
            assert (actions == DONE).tolist() == [False] * (len(actions) - 1) + [done_action]
            uses = np.cumsum(ends) - ends  # subtasks done before each step
            assert (subtasks == np.append(options.subtasks, options.subtasks[-1])[uses]).all()
            inventory = observed[:, options.layout()["inventory"]]
            assert (inventory.sum(1) == uses).all()


def test_actions_lead_from_one_observation_to_the_next():
    options = CraftOptions("DB", observation="grid")
    part = draw_demonstrations([options], 20, seed=3)["train"]
    layout = options.layout()
    moves = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
    for observed, actions, *_ in demonstrations(part):
        place = observed[:, layout["place"]].argmax(1)
        place = np.stack(np.divmod(place, options.size), 1)
        facing = observed[:, layout["facing"]].argmax(1)
        moved = actions[:-1] < USE
        assert (facing[1:] == np.where(moved, actions[:-1], facing[:-1])).all()
        change = place[1:] - place[:-1]
        went = change.any(1)
        assert (change[went] == moves[actions[:-1][went]]).all() and not went[~moved].any()


def test_no_map_of_training_is_in_validation():
    """On maps so small that almost all of them would be."""
    tasks = options_of("AB,BA", size=4, kinds="AB")
    whole = [options.observation for options in tasks]
    assert whole == ["windows"] * 2
    parts = draw_demonstrations(tasks, 60, seed=1)
    first = [
        {observed[0].tobytes() for observed, *_ in demonstrations(parts[part])}
        for part in ("train", "valid")
    ]
    assert all(first) and not first[0] & first[1]


def test_maps_differ_by_objects_place_and_direction():
    worlds = CraftWorlds(CraftOptions("A", 4, "A"), 4)
    texts = ("####\n#A>#\n#..#\n####", "####\n#Av#\n#..#\n####", "####\n#A.#\n#.>#\n####")
    for index, text in enumerate((*texts, texts[0])):
        worlds.set_map(index, text)
    maps = maps_of(worlds)
    assert maps[0] == maps[3] and len(set(maps)) == 3


def test_the_seed_decides():
    one, again, other = (
        draw_demonstrations(options_of("AC,DA"), 30, seed)["train"] for seed in (1, 1, 2)
    )
    for field, same in zip(one, again, strict=True):
        assert np.array_equal(field, same)
    assert not np.array_equal(one.actions, other.actions)


def test_maps_that_take_too_long_are_left_out():
    parts = draw_demonstrations(options_of("AC", time_limit=7), 100, seed=1)
    lengths = np.concatenate([part.lengths for part in parts.values()])
    assert lengths.max() == 7 and len(lengths) == 100


@pytest.mark.parametrize(
    ("options", "number", "message"),
    [
        ({}, 4, "5 demonstrations of a task, or more"),
        ({"time_limit": 1}, 10, "size 10: there are too few maps on which AC takes at most 1"),
        # 4 places of A, 3 of C, 2 of the agent, 4 directions
        ({"size": 4, "kinds": "AC"}, 4000, "too few maps"),
    ],
)
def test_too_few_maps(options, number, message):
    with pytest.raises(InputError, match=message):
        draw_demonstrations(options_of("AC", **options), number, seed=1)
