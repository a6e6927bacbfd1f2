"""Craft with options as actions: anybody's learner of gymnasium environments learns on skills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_vector import CraftVectorEnv
from fairseq_struct.environments.required_gymnasium import gymnasium
from fairseq_struct.errors import InputError
from fairseq_struct.inference.loading import load
from fairseq_struct.inference.option_controller.player import OptionPlayer
from fairseq_struct.inference.trained_model import TrainedModel

# Choices of options are drawn apart from maps, which are those of the environment alone.
OF_OPTIONS = 1
Checkpoint = str | Path | OptionPlayer | TrainedModel


class OptionEnv(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """An environment whose actions are the frozen options of a checkpoint.

    A step calls an option. It draws its actions from p_t, until it has ended, drawn from e_t before
    every action but its first one, or until the episode is over (algorithm 4 of Shen's thesis,
    lines 5 to 7). Options of a mixture of experts act once.

    The reward of a step is sum_k discount^k r_k over the inner steps k = 0, 1, …; what follows it
    is to be discounted by discount^n, where n is ``info["inner_steps"]``, as in a semi-Markov
    decision process (Sutton, Precup, Singh 1999). ``info`` is that of the last inner step, with

    * ``inner_steps``: their number;
    * ``inner_actions``, ``inner_rewards``: lists of as many, not discounted; in the single
      environment only.

    ``reset(seed=…)`` seeds the options as well as the maps, which are the same as without options.

    Around a :class:`.CraftVectorEnv` this is a :class:`VectorOptionEnv`: in one step every world
    calls an option, and worlds whose option has ended wait for the others.

    ::

        env = OptionEnv(gymnasium.make("fairseq_struct.environments:fairseq_struct/Craft-v0",
                                       task="DCA"), "checkpoint.pt")

    Args:
        env: Craft, single (wrappers that keep observations and actions may be around it) or
            vectorised (wrappers go around this one).
        checkpoint: path of a model that imitates, or of a policy over options; or what
            ``fairseq_struct.load`` has made of it.
        discount: of the rewards of inner steps, from 0 to 1.

    Raises:
        InputError: a checkpoint without options, or of other observations or actions than the
            environment's, or an environment that is not Craft.
    """

    def __new__(cls, env=None, *args, **more):
        """The vectorised form for vectorised environments."""
        if isinstance(env, gymnasium.vector.VectorEnv):
            return VectorOptionEnv(env, *args, **more)
        return super().__new__(cls)

    def __init__(self, env: gymnasium.Env, checkpoint: Checkpoint, discount: float = 1.0):
        checkpoint = _without_wrapper(checkpoint)
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, checkpoint=checkpoint, discount=discount, _disable_deepcopy=True
        )
        gymnasium.Wrapper.__init__(self, env)
        self._model = _model_for(env, env.observation_space, env.action_space, checkpoint, discount)
        self.action_space = gymnasium.spaces.Discrete(self._model.option_count)
        self.discount = discount
        self._generator = _generator(None)
        self._seen: np.ndarray | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode on a new map; arguments as those of the environment."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._generator = _generator(seed)
        return self._seen, info

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Call an option.

        Args:
            action: its number, from 0.

        Returns:
            The observation after the call; the discounted sum of rewards; whether the task has
            ended the episode, whether the time limit has; and the information.

        Raises:
            ValueError: no such option, or no episode has begun.
        """
        _check_options(action, self.action_space)
        if self._seen is None:
            raise ValueError("an environment must be reset before its first step")
        info, actions, rewards = {}, [], []

        def step(inner: np.ndarray, running: np.ndarray) -> tuple:
            nonlocal info
            self._seen, reward, terminated, truncated, info = self.env.step(int(inner[0]))
            actions.append(int(inner[0]))
            rewards.append(float(reward))
            return self._seen[None], *map(np.array, ([reward], [terminated], [truncated]))

        called = _call(
            self._model, np.array([action]), self._seen[None], np.ones(1, bool), [self._generator],
            self.discount, step,
        )  # fmt: skip
        inner = {"inner_steps": len(actions), "inner_actions": actions, "inner_rewards": rewards}
        ends = bool(called.terminated[0]), bool(called.truncated[0])
        return self._seen, float(called.rewards[0]), *ends, info | inner


class VectorOptionEnv(gymnasium.vector.VectorWrapper):
    """:class:`OptionEnv` for many worlds: world i, seeded with s, is the single one with s + i.

    The environment's autoreset mode holds, for calls of options instead of actions. With
    ``NextStep`` a world whose episode has ended calls no option in the next step, which begins a
    new episode; such a step has no ``inner_steps`` in ``info``. With ``SameStep`` those of the last
    call are in ``info["final_info"]``.

    Args:
        env: the worlds.
        checkpoint, discount: as for :class:`OptionEnv`.

    Raises:
        InputError: as for :class:`OptionEnv`.
    """

    def __init__(self, env: CraftVectorEnv, checkpoint: Checkpoint, discount: float = 1.0):
        super().__init__(env)
        if not isinstance(env, CraftVectorEnv):
            raise InputError(
                f"{env}: vectorised options need a CraftVectorEnv itself; put wrappers around "
                "OptionEnv, and OptionEnv around each single environment of another vector"
            )
        spaces = env.single_observation_space, env.single_action_space
        self._model = _model_for(env, *spaces, _without_wrapper(checkpoint), discount)
        self.single_action_space = gymnasium.spaces.Discrete(self._model.option_count)
        self.action_space = gymnasium.vector.utils.batch_space(
            self.single_action_space, env.num_envs
        )
        self.discount = discount
        self._generators = [_generator(None) for _ in range(env.num_envs)]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes on new maps; arguments as those of :meth:`.CraftVectorEnv.reset`."""
        observations, info = self.env.reset(seed=seed, options=options)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        seeds = self.env.seeds_of(seed)
        for i in np.flatnonzero(mask):
            if seeds[i] is not None:
                self._generators[i] = _generator(seeds[i])
        return observations, info

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Call an option in every world.

        Args:
            actions: (num_envs,) their numbers, from 0.

        Returns:
            The observations (num_envs, size) after the calls; (num_envs,) discounted sums of
            rewards, whether the task has ended the episode, whether the time limit has; and the
            information.

        Raises:
            ValueError: no such option, or an episode that should have been reset.
        """
        _check_options(actions, self.action_space)
        worlds, called = self.env.worlds, None

        def step(inner: np.ndarray, running: np.ndarray) -> tuple:
            after = worlds.step(inner, running)
            return worlds.observe(), *after

        def act(active: np.ndarray) -> tuple:
            nonlocal called
            called = _call(
                self._model, np.asarray(actions), worlds.observe(), active, self._generators,
                self.discount, step,
            )  # fmt: skip
            return called.rewards, called.terminated, called.truncated

        *found, info = self.env.advance(act)
        acted = called.lengths > 0
        final = info.get("_final_info", np.zeros(self.num_envs, bool))
        _tell_lengths(info, called.lengths, acted & ~final)
        _tell_lengths(info.get("final_info", {}), called.lengths, final)
        return *found, info


class _Called(NamedTuple):
    """What came of calls of options, each (count,)."""

    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    lengths: np.ndarray


def _call(
    model, options: np.ndarray, observations: np.ndarray, active: np.ndarray,
    generators: Sequence[np.random.Generator], discount: float,
    step: Callable[[np.ndarray, np.ndarray], tuple],
) -> _Called:  # fmt: skip
    """Call an option in each active world, until it ends or the episode is over.

    Args:
        model: see :class:`.OptionPlayer`.
        options: (count,) numbers.
        observations: (count, size) before the calls.
        active: (count,) booleans.
        generators: one for each world, which draws only while its option runs.
        discount: per inner step.
        step: given actions and booleans (count,) of running options, returns observations, rewards,
            and whether episodes are terminated, and truncated.
    """
    count = len(options)
    calls = model.single_option(options, count)
    running = active.copy()
    rewards, weights, noise = np.zeros(count), np.ones(count), np.zeros((2, count))
    terminated, truncated = np.zeros((2, count), bool)
    lengths = np.zeros(count, np.int64)
    begun = False
    while running.any():
        for i in np.flatnonzero(running):
            noise[:, i] = generators[i].random(2)
        if begun:
            running &= noise[0] >= calls.ends(observations)
            if not running.any():
                break
        else:
            calls.choose(observations, active, noise[0])
            begun = True
        observations, paid, *over = step(calls.actions(observations, noise[1]), running)
        rewards += np.where(running, weights * paid, 0)
        weights *= discount
        lengths += running
        terminated |= running & over[0]
        truncated |= running & over[1]
        running &= ~(terminated | truncated)
    return _Called(rewards, terminated, truncated, lengths)


def _without_wrapper(checkpoint):
    """The tool that acts of a loaded model, which can be copied; other things as they are."""
    if isinstance(checkpoint, TrainedModel):
        return checkpoint._tool("rollout")
    if not isinstance(checkpoint, str | Path | OptionPlayer):
        raise InputError(f"a {type(checkpoint).__name__} is no policy that acts")
    return checkpoint


def _model_for(env, observations, actions, checkpoint, discount: float):
    """The model of a checkpoint whose options can act in an environment."""
    if not 0 <= discount <= 1:
        raise InputError(f"discount must be from 0 to 1, not {discount}")
    if not isinstance(craft := getattr(env.unwrapped, "options", None), CraftOptions):
        raise InputError(f"{env}: options act in Craft, and this is another environment")
    named = isinstance(checkpoint, str | Path)
    player = load(checkpoint, ability="rollout") if named else checkpoint
    where = str(checkpoint) if named else "the checkpoint"
    if not player.model.option_count:
        raise InputError(f"{where}: this policy has no options that act by themselves")
    craft.refuse_others(player.worlds, where)
    if observations.shape != (craft.observation_size,) or actions.n != craft.action_count:
        raise InputError(f"{env}: a wrapper has changed observations or actions")
    return player.model


def _check_options(numbers, space: gymnasium.Space):
    given = np.asarray(numbers)
    if given.dtype.kind not in "iu" or not space.contains(given.astype(np.int64)):
        raise ValueError(f"options are numbers of {space}, not {numbers}")


def _generator(seed: int | None) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else (seed, OF_OPTIONS))


def _tell_lengths(info: dict[str, Any], lengths: np.ndarray, told: np.ndarray):
    """Add the inner steps of some worlds, in gymnasium's form."""
    if told.any():
        info |= {"inner_steps": np.where(told, lengths, 0), "_inner_steps": told}
