"""Episodes that a policy plays on given maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairseq_struct.environments.rollouts.actors import Episodes, Policy
from fairseq_struct.environments.rollouts.random_streams import stream


def play(
    worlds, policy: Policy, seed: int, numbers: Sequence[int],
    watch: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None] | None = None,
    most_calls: int | None = None,
) -> Episodes:  # fmt: skip
    """Let a policy play one episode in each world; its result depends on no other episode.

    Args:
        worlds: worlds, one for each number (:class:`.CraftWorlds`, or anything with its methods).
        policy: with fresh states, of as many actors.
        seed: of maps and choices.
        numbers: of the episodes; map and choices follow from seed and number.
        watch: called before each step with booleans of the worlds that go on and of those whose
            option ended before it, with the running options, and with the actions, all (worlds,).
        most_calls: stop an episode when as many options have ended; None for no bound.

    Returns:
        The episodes, in the order of ``numbers``.
    """
    count = len(numbers)
    generators = [stream("episodes", seed, number) for number in numbers]
    worlds.reset(np.arange(count), generators)
    goes_on, running = np.ones(count, bool), np.zeros(count, bool)
    options, calls = np.zeros((2, count), np.int64)
    returns = np.zeros(count, np.float32)
    while goes_on.any():
        ends, choices, acts = np.stack([each.random(3) for each in generators], axis=1)
        seen = worlds.observe()
        if running.any():
            running &= ends >= policy.ends(seen)
        if most_calls is not None:
            goes_on &= running | (calls < most_calls)
        choosing = goes_on & ~running
        calls += choosing
        if choosing.any():
            chosen, _, _ = policy.choose(seen, choosing, choices)
            options = np.where(choosing, chosen, options)
        running = goes_on.copy()
        if not running.any():
            break
        actions = policy.actions(seen, acts)
        if watch is not None:
            watch(goes_on, choosing, options, actions)
        rewards, terminated, truncated = worlds.step(actions, goes_on)
        returns += np.where(goes_on, rewards, 0)
        goes_on &= ~(terminated | truncated)
    return Episodes(returns, worlds.success, worlds.steps)
