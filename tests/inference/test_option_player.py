"""Policies that act in Craft, where one that walks about stands for a trained one."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.inference.option_controller.player import OptionPlayer

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
