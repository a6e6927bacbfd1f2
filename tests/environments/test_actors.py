"""Calls of options in a world of three lines, counted by hand."""

import numpy as np
import pytest

from fairseq_struct.environments.rollouts.actors import Actors
from fairseq_struct.environments.rollouts.episodes import play


class Corridor:
    """Action 1 goes on, others stay; 1 is paid at the end of the third place. Cut after 6 steps."""

    def __init__(self, count: int):
        self.count = count
        self.places, self.steps = np.zeros((2, count), np.int64)
        self.maps = np.zeros(count)

    def reset(self, which, generators):
        self.places[which] = self.steps[which] = 0
        self.maps[which] = [generator.random() for generator in generators]

    def observe(self):
        return np.stack([self.places, self.steps, self.maps], 1).astype(np.float32)

    def step(self, actions, active):
        self.places[active] += actions[active] == 1
        self.steps[active] += 1
        over = active & (self.places == 3)
        return over.astype(np.float32), over, active & ~over & (self.steps == 6)

    @property
    def success(self):
        return self.places == 3

    def state(self):
        return {"places": self.places.copy(), "steps": self.steps.copy(), "maps": self.maps.copy()}

    def load_state(self, state):
        for name, value in state.items():
            getattr(self, name)[:] = value


class TwoSteps:
    """Option 1 goes on, option 0 stays; each ends after two steps. V is 10 times the place."""

    def __init__(self, count: int, always: int | None = None):
        self.always, self.chosen, self.age = always, *np.zeros((2, count), np.int64)
        self.forgotten = np.zeros(count, np.int64)

    def forget(self, which):
        self.forgotten += which

    def ends(self, observations):
        return (self.age >= 2).astype(float)

    def choose(self, observations, which, noise):
        options = (noise < 0.5).astype(np.int64) if self.always is None else self.always
        self.chosen = np.where(which, options, self.chosen)
        self.age = np.where(which, 0, self.age)
        return self.chosen, np.full(len(which), -0.5), self.values(observations)

    def actions(self, observations, noise):
        self.age = self.age + 1
        return self.chosen

    def values(self, observations):
        return 10 * observations[:, 0]


def test_an_episode_that_ends_has_no_value_after_it():
    actors = Actors(Corridor(1), seed=1, discount=0.5, decay=0.5)
    rollout, episodes = actors.run(TwoSteps(1, always=1), 4)
    # Places 0 and 2; the second option is cut short by the end, after one step.
    assert rollout.lengths.tolist() == [[2, 1, 2, 1]]
    assert rollout.starts.tolist() == [[True, False, True, False]]
    assert rollout.observations[0, :, 0].tolist() == [0, 2, 0, 2]
    second = 1 - 20.0
    first = 0.25 * 20 - 0 + 0.25 * 0.5 * second
    np.testing.assert_allclose(rollout.advantages[0], [first, second] * 2)
    np.testing.assert_allclose(rollout.returns[0, :2], [first, 1])
    assert (episodes.returns.tolist(), episodes.steps.tolist()) == ([1, 1], [3, 3])
    assert episodes.successes.all()


def test_an_episode_that_is_cut_has_the_value_of_the_state_it_was_cut_in():
    actors = Actors(Corridor(1), seed=1, discount=0.5, decay=0.5)
    policy = TwoSteps(1, always=0)
    actors.worlds.places[:] = 1
    rollout, episodes = actors.run(policy, 3)
    assert rollout.lengths.tolist() == [[2, 2, 2]]
    cut = 0.25 * 10 - 10
    np.testing.assert_allclose(rollout.advantages[0, 2], cut)
    np.testing.assert_allclose(rollout.advantages[0, 1], cut + 0.25 * 0.5 * cut)
    assert episodes.returns.tolist() == [0] and not episodes.successes.any()
    assert policy.forgotten.tolist() == [1] and actors.worlds.places.tolist() == [0]


def test_the_last_decision_is_followed_by_the_value_where_its_option_ended():
    actors = Actors(Corridor(1), seed=1, discount=0.5, decay=0.5)
    rollout, _ = actors.run(TwoSteps(1, always=1), 1)
    np.testing.assert_allclose(rollout.advantages, [[0.25 * 20]])
    later, _ = actors.run(TwoSteps(1, always=1), 1)  # goes on where it stopped
    assert later.observations[0, 0, 0] == 2 and not later.starts.any()


def test_every_actor_makes_as_many_decisions_whatever_the_others_do():
    rollout, _ = Actors(Corridor(5), seed=3).run(TwoSteps(5), 7)
    alone, _ = Actors(Corridor(2), seed=3, first=2, total=5).run(TwoSteps(2), 7)
    assert len(np.unique(rollout.options)) == 2
    for whole, part in zip(rollout, alone, strict=True):
        np.testing.assert_array_equal(whole[2:4], part)


def test_actors_go_on_from_their_state():
    whole = Actors(Corridor(3), seed=4)
    first, second = (whole.run(TwoSteps(3), 5)[0] for _ in range(2))
    assert not np.array_equal(first.options, second.options)
    stopped = Actors(Corridor(3), seed=4)
    stopped.run(TwoSteps(3), 5)
    resumed = Actors(Corridor(3), seed=4)
    resumed.load_state(stopped.state())
    for expected, found in zip(second, resumed.run(TwoSteps(3), 5)[0], strict=True):
        np.testing.assert_array_equal(expected, found)


def test_other_actors_go_on_with_new_maps_and_choices():
    whole, known = Actors(Corridor(4), seed=5), []
    for _ in range(3):
        known.append(whole.run(TwoSteps(4), 6)[0])
    others = Actors(Corridor(3), seed=5, first=3, total=6)
    others.go_on_anew([whole.state(), Actors(Corridor(4), seed=5, first=4, total=8).state()])
    first, _ = others.run(TwoSteps(3), 6)
    maps = {number for rollout in known for number in rollout.observations[..., 2].flat}
    assert first.starts[:, 0].all() and maps.isdisjoint(first.observations[..., 2].flat)
    again = Actors(Corridor(3), seed=5, first=3, total=6).run(TwoSteps(3), 6)[0]
    assert not np.array_equal(first.options, again.options)


@pytest.mark.parametrize("numbers", [[4], [2, 4], [4, 7, 9]])
def test_an_episode_does_not_depend_on_those_beside_it(numbers):
    def played(numbers):
        worlds, seen = Corridor(len(numbers)), []
        found = play(
            worlds, TwoSteps(len(numbers)), 1, numbers,
            lambda *step: seen.append([part.copy() for part in step]),
        )  # fmt: skip
        return found, worlds.maps, seen

    alone, places = played([4]), numbers.index(4)
    together = played(numbers)
    for expected, found in zip(alone[0], together[0], strict=True):
        assert expected[0] == found[places]
    assert alone[1][0] == together[1][places]
    steps = [[part[places] for part in step] for step in together[2] if step[0][places]]
    assert steps == [[part[0] for part in step] for step in alone[2]]
    assert steps[0][1] and not steps[1][1]
