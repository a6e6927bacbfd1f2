"""Actors: worlds in which a policy chooses options, each of which runs until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fairseq_struct.environments.rollouts.advantages import generalised_advantages
from fairseq_struct.environments.rollouts.random_streams import stream


class Policy(Protocol):
    """What actors ask of a policy; it keeps the states of controller and options of each actor.

    Observations are (actors, size) float32, ``which`` is (actors,) bool, ``noise`` is (actors,),
    uniform in [0, 1).
    """

    def forget(self, which: np.ndarray):
        """Begin an episode: the controller's initial state."""

    def ends(self, observations: np.ndarray) -> np.ndarray:
        """(actors,) probability that the running option is done here, before it acts."""

    def choose(self, observations: np.ndarray, which: np.ndarray, noise: np.ndarray) -> Sequence:
        """Let the controllers of ``which`` choose an option, and start these options anew.

        Returns:
            (actors,) number of the option, its log-probability, and the estimated return from
            here; rows that did not choose have any value.
        """

    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(actors,) the action of each running option."""

    def values(self, observations: np.ndarray) -> np.ndarray:
        """(actors,) estimated return from here, before a choice is made."""


class Rollout(NamedTuple):
    """Decisions of actors, all (actors, decisions) but for the sizes of observations.

    Args:
        observations: (actors, decisions, size) what was seen when the option was chosen.
        starts: whether the decision is the first one of an episode.
        options: number of the chosen option.
        log_probabilities: of the chosen option.
        advantages: see :func:`.generalised_advantages`.
        returns: what the value network learns.
        lengths: steps of the environment that the option took.
    """

    observations: np.ndarray
    starts: np.ndarray
    options: np.ndarray
    log_probabilities: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray


class Episodes(NamedTuple):
    """Episodes that ended, each an array.

    Args:
        returns: what was paid, not discounted.
        successes: whether all subtasks were done.
        steps: steps of the environment.
    """

    returns: np.ndarray
    successes: np.ndarray
    steps: np.ndarray


class Actors:
    """Lines 4 to 11 of algorithm 4 (Shen's thesis, chapter 5), for all actors at once.

    Every actor makes the same number of decisions. It acts until the option of its last decision
    ends, then waits for the others. A new episode begins on a new map as soon as one ends, within
    the same step of the environment, so no step only resets. An episode that ends by its own rules
    has no value after it; one that was cut by time has the value of the state in which it was cut.

    All random numbers follow from the seed, the number of the actor among all workers, its number
    of episodes and the number of rollouts. So :meth:`state` is complete, and actors that several
    workers share do what they would do together.

    Args:
        worlds: worlds of the same number as there are actors here (:class:`.CraftWorlds`, or
            anything with its methods).
        seed: of maps and choices.
        discount: gamma, per step of the environment.
        decay: lambda of generalised advantage estimation.
        first: number of the first of these actors among those of all workers.
        total: number of actors of all workers (default: those of this one).
    """

    def __init__(
        self, worlds, seed: int, discount: float = 0.99, decay: float = 0.95, first: int = 0,
        total: int | None = None,
    ):  # fmt: skip
        self.worlds, self.seed, self.discount, self.decay = worlds, seed, discount, decay
        self.first, self.count = first, worlds.count
        self.total = self.count if total is None else total
        self.rollouts = 0
        self.episodes = np.zeros(self.count, np.int64)
        self.fresh = np.ones(self.count, bool)  # no decision of the episode has been made
        self.paid = np.zeros(self.count, np.float32)
        self._begin(np.arange(self.count))

    def run(self, policy: Policy, decisions: int) -> tuple[Rollout, Episodes]:
        """Let every actor make ``decisions`` decisions, and return them with their advantages."""
        return _Run(self, policy, decisions).finish()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that later rollouts depend on, except the policy."""
        return {
            "rollouts": np.asarray(self.rollouts),
            "episodes": self.episodes.copy(),
            "fresh": self.fresh.copy(),
            "paid": self.paid.copy(),
        } | {f"world_{name}": value for name, value in self.worlds.state().items()}

    def load_state(self, state: dict[str, np.ndarray]):
        """Go on from a :meth:`state`."""
        self.rollouts = int(state["rollouts"])
        self.episodes, self.fresh, self.paid = (
            np.array(state[name]) for name in ("episodes", "fresh", "paid")
        )
        names = [name for name in state if name.startswith("world_")]
        self.worlds.load_state({name.removeprefix("world_"): state[name] for name in names})

    def go_on_anew(self, states: Sequence[dict[str, np.ndarray]]):
        """Begin new episodes after the :meth:`state` of all workers, of which there were others.

        Their maps and choices are none of those that were drawn before.
        """
        self.rollouts = max(int(state["rollouts"]) for state in states)
        self.episodes[:] = max(int(state["episodes"].max()) for state in states)
        self._begin(np.arange(self.count))

    def _begin(self, which: Sequence[int]):
        """New maps for some actors."""
        generators = [
            stream("maps", self.seed, self.first + one, self.episodes[one])
            for one in which
        ]
        self.worlds.reset(np.asarray(which), generators)
        self.episodes[which] += 1
        self.fresh[which], self.paid[which] = True, 0


class _Run:
    """One rollout while it is made."""

    def __init__(self, actors: Actors, policy: Policy, decisions: int):
        self.actors, self.policy, self.decisions = actors, policy, decisions
        self.noise = stream("noise", actors.seed, actors.rollouts)
        actors.rollouts += 1
        shape = actors.count, decisions
        size = actors.worlds.observe().shape[1]
        self.observations = np.zeros((*shape, size), np.float32)
        self.starts, self.goes_on = np.zeros(shape, bool), np.ones(shape, bool)
        self.options, self.lengths = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.log_probabilities, self.rewards, self.values, self.next_values = (
            np.zeros(shape, np.float32) for _ in range(4)
        )
        self.made = np.zeros(actors.count, np.int64)
        self.running = np.zeros(actors.count, bool)
        self.ended: list[tuple[float, bool, int]] = []

    def finish(self) -> tuple[Rollout, Episodes]:
        """Act until every actor's last option has ended."""
        while self._step():
            pass
        actors = self.actors
        discounts = (actors.discount**self.lengths).astype(np.float32)
        # Where the episode goes on, a decision ends where the next one is made.
        following = np.append(self.values[:, 1:], self._last_values()[:, None], axis=1)
        next_values = np.where(self.goes_on, following, self.next_values)
        goes_on = self.goes_on.copy()
        goes_on[:, -1] = False
        advantages = generalised_advantages(
            self.rewards, self.values, next_values, discounts, goes_on, actors.decay
        )
        rollout = Rollout(
            self.observations, self.starts, self.options, self.log_probabilities, advantages,
            advantages + self.values, self.lengths,
        )  # fmt: skip
        columns = zip(*self.ended, strict=True) if self.ended else ((), (), ())
        types = (np.float32, bool, np.int64)
        return rollout, Episodes(*map(np.array, columns, types))

    def _last_values(self) -> np.ndarray:
        return self.policy.values(self.actors.worlds.observe())

    def _step(self) -> bool:
        """One step of the environment; False if all actors wait."""
        actors, policy = self.actors, self.policy
        # Drawn for the actors of all workers, so that these do not depend on their number.
        ends, choices, acts = self.noise.random((3, actors.total))[
            :, actors.first : actors.first + actors.count
        ]
        seen = actors.worlds.observe()
        if self.running.any():
            self.running &= ends >= policy.ends(seen)
        choosing = ~self.running & (self.made < self.decisions)
        if choosing.any():
            self._choose(seen, choosing, choices)
        if not self.running.any():
            return False
        actions = policy.actions(seen, acts)
        rewards, terminated, truncated = actors.worlds.step(actions, self.running)
        self._pay(np.where(self.running, rewards, 0))
        over = self.running & (terminated | truncated)
        if over.any():
            self._end_episodes(over, terminated)
        return True

    def _choose(self, seen: np.ndarray, choosing: np.ndarray, noise: np.ndarray):
        # Not when the last episode ends: the policy may learn before the first decision.
        begins = choosing & self.actors.fresh
        if begins.any():
            self.policy.forget(begins)
        options, log_probabilities, values = self.policy.choose(seen, choosing, noise)
        rows = np.flatnonzero(choosing)
        places = rows, self.made[rows]
        self.observations[places] = seen[rows]
        self.starts[places] = self.actors.fresh[rows]
        self.options[places] = options[rows]
        self.log_probabilities[places] = log_probabilities[rows]
        self.values[places] = values[rows]
        self.actors.fresh[rows] = False
        self.made[rows] += 1
        self.running[rows] = True

    def _pay(self, rewards: np.ndarray):
        rows = np.flatnonzero(self.running)
        places = rows, self.made[rows] - 1
        self.rewards[places] += self.actors.discount ** self.lengths[places] * rewards[rows]
        self.lengths[places] += 1
        self.actors.paid += rewards

    def _end_episodes(self, over: np.ndarray, terminated: np.ndarray):
        """Note episodes that ended, and begin new ones."""
        actors = self.actors
        rows = np.flatnonzero(over)
        places = rows, self.made[rows] - 1
        self.goes_on[places] = False
        cut = over & ~terminated
        if cut.any():
            after = self.policy.values(actors.worlds.observe())
            self.next_values[places] = np.where(cut, after, 0)[rows]
        worlds = actors.worlds
        self.ended += zip(
            actors.paid[rows].tolist(), worlds.success[rows].tolist(), worlds.steps[rows].tolist(),
            strict=True,
        )  # fmt: skip
        self.running[rows] = False
        actors._begin(rows)
