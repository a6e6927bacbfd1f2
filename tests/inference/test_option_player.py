"""Policies that act in Craft, where one that walks about stands for a trained one."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.errors import InputError
from fairseq_struct.inference.option_controller.player import OptionPlayer, rollout_of

CRAFT = CraftOptions("A", size=4, kinds="A", done_action=True, observation="grid", time_limit=99)


class Walker:
    """Any action but ``done``, in one call that never ends."""

    def __init__(self, count: int):
        self.switch = np.zeros(count)

    def ends(self, observations):
        return np.zeros(len(observations))

    def choose(self, observations, which, noise):
        return np.zeros(len(which), np.int64), noise, noise

    def actions(self, observations, noise):
        return (5 * noise).astype(np.int64)


class Model:
    option_count = 1

    def eval(self):
        return self

    def modules(self):
        return iter(())

    def acting(self, count, task=0):
        return Walker(count)

    def single_option(self, number, count):
        return Walker(count)


@pytest.fixture
def player():
    return OptionPlayer(Model(), SimpleNamespace(craft=CRAFT))


def test_an_option_that_does_a_subtask_need_not_say_so(player):
    """It does the subtask; the action ``done`` would be that of the whole task."""
    assert player.option_success(episodes=50) == pytest.approx(1, abs=0.1)
    assert not player.rollout(episodes=50).successes.any()


def test_steps_after_all_subtasks_are_shown_with_the_last(player):
    seen = player.trajectory()
    assert seen.subtasks == ["A"] * CRAFT.time_limit and not seen.success


def test_worlds_that_the_policy_was_not_made_for_are_refused(player):
    for world, message in (
        ({"kinds": "AB"}, "this policy: made with kinds 'A', but the environment has 'AB'"),
        ({"observation": "windows"}, "made with observation 'grid'"),
        ({"size": 5}, "made with size 4"),
        ({"colour": 1}, "unknown option 'colour'"),
    ):
        for verb in (player.rollout, player.option_success, player.trajectory):
            with pytest.raises(InputError, match=message):
                verb(**world)


@pytest.mark.parametrize(("options", "what"), [(1, "controller over its options"), (0, "policy")])
def test_what_serves_for_a_task_that_the_policy_does_not_know(options, what):
    model = Model()
    model.option_count = options
    player = OptionPlayer(model, SimpleNamespace(craft=CraftOptions("A", size=5, kinds="AB")))
    with pytest.raises(InputError, match=f"knows A; train a new {what} with .* --subtasks B$"):
        player.rollout("B")


@pytest.mark.parametrize("name", ["bot", "random"])
def test_an_episode_does_not_depend_on_how_many_there_are(name):
    world = CraftOptions("ACBD", size=8)
    few, many = (rollout_of(name, world, episodes) for episodes in (80, 90))
    for ours, theirs in zip(few, many, strict=True):
        assert np.array_equal(ours, theirs[:80])
    assert name == "random" or many.successes.all()


def test_numbers_out_of_range_are_refused(player):
    for verb, given in (
        (player.rollout, {"seed": -1}), (player.option_success, {"seed": -1}),
        (player.trajectory, {"seed": -1}), (player.trajectory, {"episode": -1}),
    ):  # fmt: skip
        with pytest.raises(InputError, match="(seed|episode) must be 0 or more, not -1"):
            verb(**given)
    with pytest.raises(InputError, match="seed must be 0 or more"):
        rollout_of("bot", CRAFT, seed=-1)
    with pytest.raises(InputError, match="unknown policy 'botx'.*'bot'"):
        rollout_of("botx", CRAFT)
