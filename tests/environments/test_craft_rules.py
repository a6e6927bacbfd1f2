"""The rules of Craft, on maps made by hand."""

import numpy as np
import pytest

from fairseq_struct.environments.craft_bot import best_actions
from fairseq_struct.environments.craft_kernels import FIRST_KIND
from fairseq_struct.environments.craft_rules import ACTIONS, KINDS, CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.errors import InputError

UP, DOWN, LEFT, RIGHT, USE, DONE = range(6)
SMALL = """
    #######
    #A.>.C#
    #..o..#
    #.w...#
    #.....#
    #B...D#
    #######
"""


def world(task="AC", text=SMALL, **options):
    worlds = CraftWorlds(CraftOptions(task, size=text.strip().count("\n") + 1, **options), 1)
    worlds.set_map(0, text)
    return worlds


def act(worlds, *actions):
    """All rewards, and the last two flags."""
    steps = [worlds.step(np.array([action])) for action in actions]
    return [float(step[0][0]) for step in steps], bool(steps[-1][1][0]), bool(steps[-1][2][0])


def row(worlds, number):
    return worlds.text(0).split("\n")[number]


def test_a_map_is_read_as_it_is_written():
    lines = [line.strip() for line in SMALL.strip().splitlines()]
    assert world().text(0) == "\n".join(lines)


def test_a_move_turns_the_agent_and_goes_if_the_cell_is_free():
    worlds = world()
    act(worlds, DOWN)  # an obstacle
    assert row(worlds, 1) == "#A.v.C#"
    act(worlds, UP)  # the boundary
    assert row(worlds, 1) == "#A.^.C#"
    act(worlds, LEFT)
    assert row(worlds, 1) == "#A<..C#"
    act(worlds, LEFT)  # an object
    assert row(worlds, 1) == "#A<..C#"
    act(worlds, DOWN)
    assert row(worlds, 2) == "#.vo..#"
    act(worlds, DOWN)  # a workshop
    assert row(worlds, 2) == "#.vo..#"
    assert worlds.steps == [6]


def test_the_agent_stays_inside_the_boundary():
    worlds = world()
    for move in (LEFT, DOWN, LEFT, UP, RIGHT):
        act(worlds, *[move] * 10)
    assert worlds.arrays.places.min() >= 1 and worlds.arrays.places.max() <= 5
    act(worlds, USE)  # takes no boundary
    assert worlds.text(0).count("#") == 24


def test_use_takes_the_object_before_the_agent_only():
    worlds = world("C")
    act(worlds, USE)  # a free cell
    act(worlds, DOWN, USE)  # an obstacle
    assert not worlds.arrays.inventory.any() and row(worlds, 2) == "#..o..#"
    act(worlds, RIGHT)
    assert act(worlds, USE) == ([1.0], True, False)
    assert row(worlds, 1) == "#A..>.#"
    assert worlds.arrays.inventory.tolist() == [[0, 0, 1, 0]]
    assert worlds.success == [True] and worlds.failed == [False]


@pytest.mark.parametrize(("reward", "first"), [("sparse", 0.0), ("dense", 1.0)])
def test_rewards_of_a_task_in_its_order(reward, first):
    worlds = world("AC", reward=reward)
    assert act(worlds, USE, LEFT, USE) == ([0.0, 0.0, first], False, False)
    assert worlds.done_subtasks == [1] and worlds.goals == [2]
    assert act(worlds, RIGHT, RIGHT, RIGHT, USE) == ([0.0, 0.0, 0.0, 1.0], True, False)
    assert worlds.success == [True] and worlds.goals == [-1]


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_what_is_taken_out_of_order_and_cannot_be_replaced_ends_the_episode(reward):
    worlds = world("AC", reward=reward)
    assert act(worlds, RIGHT, USE) == ([0.0, 0.0], True, False)
    assert worlds.failed == [True] and worlds.success == [False]
    before = worlds.text(0)
    assert act(worlds, LEFT) == ([0.0], True, False)  # an episode that has ended stays so
    assert worlds.text(0) == before and worlds.steps == [2]


def test_what_is_taken_out_of_order_is_not_paid_and_what_the_task_does_not_need_does_no_harm():
    text = SMALL.replace("D#", "C#").replace("B.", "D.")
    worlds = world("AC", text, reward="dense", objects_per_kind=2)
    assert act(worlds, RIGHT, USE) == ([0.0, 0.0], False, False)  # one C is left
    rewards, *_ = act(worlds, LEFT, LEFT, LEFT, USE)
    assert rewards[-1] == 1.0
    assert act(worlds, LEFT, DOWN, DOWN, DOWN, DOWN, USE) == ([0.0] * 6, False, False)
    assert worlds.arrays.inventory.tolist() == [[1, 0, 1, 1]]
    assert act(worlds, *[RIGHT] * 3, DOWN, *[RIGHT] * 2, USE)[1:] == (True, False)
    assert worlds.success == [True]


def test_an_episode_is_cut_at_the_time_limit_unless_it_ends_there():
    worlds = world("C", time_limit=2)
    assert act(worlds, LEFT, LEFT) == ([0.0, 0.0], False, True)
    assert not (worlds.success | worlds.failed)
    worlds.set_map(0, SMALL)
    assert act(worlds, RIGHT, USE) == ([0.0, 1.0], True, False)


def test_done_alone_ends_an_episode_where_it_is_an_action():
    worlds = world("C", done_action=True)
    assert act(worlds, RIGHT, USE) == ([0.0, 1.0], False, False)
    assert act(worlds, DONE) == ([0.0], True, False)
    assert worlds.success == [True]
    worlds.set_map(0, SMALL)
    assert act(worlds, DONE) == ([0.0], True, False)
    assert worlds.failed == [True]
    worlds = world("AC", done_action=True, time_limit=3)
    assert act(worlds, RIGHT, USE, LEFT) == ([0.0, 0.0, 0.0], False, True)


def test_inactive_worlds_do_not_move():
    worlds = CraftWorlds(CraftOptions(), 2)
    worlds.reset(np.arange(2), [np.random.default_rng(1)] * 2)
    before = worlds.text(0)
    for action in (UP, DOWN, LEFT, RIGHT):
        rewards, terminated, truncated = worlds.step(np.full(2, action), np.array([False, True]))
    assert worlds.text(0) == before and worlds.steps.tolist() == [0, 4]
    assert not (rewards[0] or terminated[0] or truncated[0])


def test_maps_have_everything_and_every_object_can_be_reached():
    options = CraftOptions("AABB", 8, "AB", objects_per_kind=3, workshops=4, obstacles=12)
    worlds = CraftWorlds(options, 500)
    worlds.reset(np.arange(500), [np.random.default_rng(1)] * 500)
    texts = [worlds.text(index) for index in range(500)]
    assert len(set(texts)) == 500
    for text in texts:
        assert [text.count(symbol) for symbol in "ABwo"] == [3, 3, 4, 12]
        assert flooded(text)


def test_everything_is_anywhere_with_equal_probability():
    worlds = CraftWorlds(CraftOptions(), 6400)
    worlds.reset(np.arange(6400), [np.random.default_rng(1)] * 6400)
    places = worlds.arrays.places - 1
    objects = (worlds.arrays.cells[:, 1:-1, 1:-1] == FIRST_KIND + 2).sum(0)
    for counts in (np.bincount(places[:, 0] * 8 + places[:, 1]), objects.ravel()):
        assert counts.sum() == 6400 and len(counts) == 64
        assert (counts > 60).all() and (counts < 140).all()
    assert (np.bincount(worlds.arrays.facing) > 1400).all()


def flooded(text):
    """Whether a flood that starts at the agent touches every object."""
    cells = {(r, c): s for r, line in enumerate(text.split("\n")) for c, s in enumerate(line)}
    todo = [place for place, symbol in cells.items() if symbol in "^v<>"]
    wet = set(todo)
    while todo:
        r, c = todo.pop()
        for beside in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if beside not in wet:
                wet.add(beside)
                todo += [beside] if cells[beside] == "." else []
    return all(place in wet for place, symbol in cells.items() if symbol in KINDS)


def test_worlds_depend_on_their_own_generator_alone():
    one, many = CraftWorlds(CraftOptions(), 1), CraftWorlds(CraftOptions(), 5)
    many.reset(np.array([4, 2]), [np.random.default_rng(seed) for seed in (4, 2)])
    for seed in (2, 4):
        one.reset(np.array([0]), [np.random.default_rng(seed)])
        assert one.text(0) == many.text(seed)
    assert many.ended.tolist() == [True, True, False, True, False]  # until their first reset


def test_a_state_is_everything():
    generator = np.random.default_rng(1)
    first, second = (CraftWorlds(CraftOptions(), 20) for _ in range(2))
    first.reset(np.arange(20), [generator] * 20)
    draws = generator.integers(0, len(ACTIONS), (60, 20))
    for actions in draws[:30]:
        first.step(actions)
    state = first.state()
    second.load_state(state)
    for actions in draws[30:]:
        for one, other in zip(first.step(actions), second.step(actions), strict=True):
            assert (one == other).all()
        assert (first.observe() == second.observe()).all()
    second.load_state(state)
    assert (second.steps <= 30).all()  # the state did not move with the worlds
    with pytest.raises(InputError, match="other worlds"):
        CraftWorlds(CraftOptions(), 19).load_state(state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": ""}, "task '': must be subtasks in order"),
        ({"task": "AX"}, r"no subtask 'X'; choose from A \(wood\), B \(gold\)"),
        ({"task": "ac"}, "no subtask 'a'"),
        ({"task": "AB", "kinds": "AC"}, "no subtask 'B'"),
        ({"task": "ACA"}, "takes A 2 times, but there is 1"),
        ({"task": "AAA", "objects_per_kind": 2}, "takes A 3 times, but there are 2"),
        ({"kinds": "AAC"}, "kinds 'AAC'"),
        ({"kinds": "ACE"}, "kinds 'ACE'"),
        ({"kinds": ""}, "kinds ''"),
        ({"kinds": ["A", "C"]}, "kinds .'A', 'C'.: must be different letters"),
        ({"kinds": 3}, "kinds 3"),
        ({"task": 3}, "task 3"),
        ({"done_action": "no"}, "done_action 'no'"),
        ({"size": 4}, "size 4: a map with 4 cells inside its boundary is too small for 4 objects"),
        ({"size": 5, "obstacles": 5}, "too small"),
        ({"size": 10.0}, "size 10.0: must be a whole number"),
        ({"time_limit": 0}, "time_limit 0"),
        ({"workshops": -1}, "workshops -1"),
        ({"objects_per_kind": True}, "objects_per_kind True"),
        ({"objects_per_kind": 300, "size": 50}, "255 at most"),
        ({"reward": "dens"}, "unknown reward 'dens'; choose one of sparse, dense; did you mean"),
        ({"observation": "window"}, "did you mean 'windows'"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        CraftOptions(**options)


def test_maps_that_cannot_be_solved_are_refused():
    worlds = CraftWorlds(CraftOptions("A", 12, "A", obstacles=97), 2)
    with pytest.raises(InputError, match="too crowded"):
        CraftWorlds(CraftOptions("A", 12, "A", objects_per_kind=90, obstacles=9), 1).reset(
            np.array([0]), [np.random.default_rng(1)]
        )
    worlds.reset(np.arange(2), [np.random.default_rng(1)] * 2)  # few maps can be solved, but some
    assert not worlds.ended.any()


def test_options_are_read_back_and_compared():
    options = CraftOptions("DCA", size=8, kinds="ACD", observation="grid")
    assert CraftOptions.from_dict(options.to_dict()) == options
    with pytest.raises(InputError, match="here: unknown option 'sise'"):
        CraftOptions.from_dict({"sise": 3}, "here")
    with pytest.raises(InputError, match="here: "):
        CraftOptions.from_dict({"kinds": 3}, "here")
    options.refuse_others(CraftOptions("A", 8, "ACD", observation="grid", time_limit=9), "data")
    for other in ({"size": 9}, {"kinds": "ABC"}, {"observation": "windows"}, {"done_action": True}):
        same = {"task": "AC", "size": 8, "kinds": "ACD", "observation": "grid"}
        with pytest.raises(InputError, match=f"data: made with {next(iter(other))}"):
            options.refuse_others(CraftOptions(**same | other), "data")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.replace("A", "X"), "'X' in row 2"),
        (SMALL.replace(">", "."), "one agent"),
        (SMALL.replace("A", "<"), "one agent"),
        (SMALL.replace("A", "#"), "boundary"),
        (SMALL.replace("#A", ".A"), "boundary"),
        (SMALL.replace("A.", "A"), "7 rows of 7"),
        (SMALL.replace("A", "."), "too few A"),
    ],
)
def test_damaged_maps_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        world(text=text)


def test_actions_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="0 to 4"):
        world().step(np.array([DONE]))
    with pytest.raises(ValueError, match="0 to 4"):
        world().step(np.array([-1]))
    with pytest.raises(ValueError, match="one action for each"):
        world().step(np.array([0, 0]))


def test_worlds_that_do_not_exist_are_refused():
    worlds, one = CraftWorlds(CraftOptions(), 2), np.random.default_rng(1)
    for which, generators in (([2], [one]), ([-1], [one]), ([0, 1], [one]), ([0], [one, one])):
        with pytest.raises(ValueError, match="worlds are 0 to 1, and each needs a generator"):
            worlds.reset(np.array(which), generators)
    with pytest.raises(ValueError, match="observations have the shape"):
        worlds.observe(np.empty((1, 358), np.float32))
    with pytest.raises(ValueError, match="one goal for each"):
        best_actions(worlds, np.array([0]))
