"""Advantages against stored values of stable-baselines3 2.9.2, and by hand for longer options."""

import numpy as np
import pytest

from fairseq_struct.environments.rollouts.advantages import generalised_advantages

# Two worlds, six steps. In the first, an episode ends by its rules after the third step, and one is
# cut after the fifth, in a state of value 0.7; the second goes on throughout.
REWARDS = np.array([
    [-0.8, -0.25, 1.14, -0.55, 0.75, 0.27], [-1.32, 0.42, 0.11, -0.78, 1.63, -1.23],
])  # fmt: skip
VALUES = np.array([
    [-0.96, 0.2, -0.08, -0.63, -0.71, -0.06], [1.6, -1.73, -1.16, -0.49, 0.55, -0.59],
])  # fmt: skip
LAST = np.array([0.41, 0.83])
GAMMA, LAMBDA = 0.8, 0.9
# RolloutBuffer.compute_returns_and_advantage, its user having added gamma V(0.7) to the reward of
# the step at which the episode was cut, as the library's documentation asks.
STORED = np.array([
    [0.5823680, 0.3644000, 1.2200000, 0.9664000, 2.0200000, 0.6580001],
    [-2.7449803, 2.1653047, 1.3101451, 0.6002016, 0.6252799, 0.0239999],
])  # fmt: skip


def ends_and_values() -> tuple[np.ndarray, np.ndarray]:
    goes_on = np.ones((2, 6), bool)
    goes_on[0, [2, 4]] = goes_on[:, -1] = False
    following = np.append(VALUES[:, 1:], LAST[:, None], axis=1)
    following[0, 2], following[0, 4] = 0, 0.7
    return goes_on, following


def test_values_are_those_of_the_library():
    goes_on, following = ends_and_values()
    discounts = np.full((2, 6), GAMMA)
    found = generalised_advantages(REWARDS, VALUES, following, discounts, goes_on, LAMBDA)
    np.testing.assert_allclose(found, STORED, atol=1e-6)


def test_the_library_itself_agrees():
    buffers = pytest.importorskip("stable_baselines3.common.buffers")
    torch = pytest.importorskip("torch")
    spaces = pytest.importorskip("gymnasium").spaces
    buffer = buffers.RolloutBuffer(
        6, spaces.Box(-1, 1, (1,)), spaces.Discrete(2), gae_lambda=LAMBDA, gamma=GAMMA, n_envs=2
    )
    starts = np.zeros((6, 2))
    starts[0], starts[[3, 5], 0] = 1, 1
    rewards = REWARDS.copy()
    rewards[0, 4] += GAMMA * 0.7
    nothing = np.zeros((2, 1))
    for t in range(6):
        values = torch.tensor(VALUES[:, t])
        buffer.add(nothing, nothing, rewards[:, t], starts[t], values, torch.zeros(2))
    buffer.compute_returns_and_advantage(torch.tensor(LAST), np.zeros(2))
    np.testing.assert_allclose(buffer.advantages.T, STORED, atol=1e-6)


def test_a_longer_option_is_discounted_to_its_length():
    """One option of three steps, paid at its end, is the same as three steps of one."""
    rewards, values = np.array([[0.0, 0.0, 2.0]]), np.zeros((1, 3))
    goes_on = np.array([[True, True, False]])
    steps = generalised_advantages(rewards, values, values, np.full((1, 3), GAMMA), goes_on, 1.0)
    paid = GAMMA**2 * 2.0
    option = generalised_advantages(
        np.array([[paid]]), np.zeros((1, 1)), np.full((1, 1), 5.0), np.array([[GAMMA**3]]),
        np.array([[False]]), 1.0,
    )  # fmt: skip
    assert option[0, 0] == pytest.approx(steps[0, 0] + GAMMA**3 * 5.0)
