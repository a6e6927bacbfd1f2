"""Many worlds of Craft as one vectorised environment of gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairseq_struct.environments.craft_spaces import (
    METADATA,
    action_space,
    info_of,
    observation_space,
    options_of,
    rendered,
)
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.required_gymnasium import AutoresetMode, gymnasium, seeding
from fairseq_struct.errors import InputError, unknown_name


class CraftVectorEnv(gymnasium.vector.VectorEnv):
    """Worlds of Craft that act in step.

    World i, seeded with s, is the single environment seeded with s + i, step by step.

    Args:
        num_envs: number of worlds.
        autoreset_mode: what happens in a world whose episode has ended, by gymnasium's rules. With
            ``NextStep`` the next step ignores its action, begins a new episode and has reward 0.
            With ``SameStep`` the same step begins it; the last observation and information are
            ``info["final_obs"]`` and ``info["final_info"]``. With ``Disabled`` it must be reset,
            by ``options={"reset_mask": …}``.
        render_mode: ``rgb_array``, ``ansi`` for text, or None.
        options: as for :class:`.CraftOptions`: ``task``, ``reward``, and so on.

    Raises:
        InputError: impossible options.
    """

    metadata = METADATA

    def __init__(
        self, num_envs: int = 1, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None, **options,
    ):  # fmt: skip
        self.options = options_of(options, render_mode)
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode) and autoreset_mode not in modes:
            raise InputError(unknown_name("autoreset_mode", autoreset_mode, modes))
        if num_envs < 1:
            raise InputError(f"num_envs {num_envs}: must be at least 1")
        self.num_envs, self.render_mode = num_envs, render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = METADATA | {"autoreset_mode": self.autoreset_mode}
        self.worlds = CraftWorlds(self.options, num_envs)
        self.single_observation_space = observation_space(self.options)
        self.single_action_space = action_space(self.options)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator] = [None] * num_envs
        self._seeds: list[int] = [None] * num_envs

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The worlds' generators."""
        self._seed([None] * self.num_envs, np.arange(self.num_envs))
        return tuple(self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The worlds' seeds."""
        self._seed([None] * self.num_envs, np.arange(self.num_envs))
        return tuple(self._seeds)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes on new maps.

        Args:
            seed: s, for seeds s + i; or a seed for each world. None goes on with the last seeds.
            options: ``reset_mask``, (num_envs,) booleans, names the worlds to reset; others go on.

        Returns:
            The observations (num_envs, size) of all worlds, and the information.

        Raises:
            InputError: maps so crowded that none can be solved.
            ValueError: not as many seeds, or no such mask.
        """
        which = np.flatnonzero(self._mask(options))
        self._seed(self.seeds_of(seed), which)
        self._begin(which)
        told = np.zeros(self.num_envs, bool)
        told[which] = True
        return self.worlds.observe(), self._info(told)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act once in every world.

        Args:
            actions: (num_envs,) their numbers.

        Returns:
            The observations (num_envs, size); (num_envs,) rewards, whether the task has ended the
            episode, whether the time limit has; and the information.

        Raises:
            ValueError: no such action, a world that was never reset, or an episode that should have
                been.
        """
        return self.advance(lambda active: self.worlds.step(actions, active))

    def advance(
        self, act: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """A :meth:`step` of as many actions in ``worlds`` as wanted; autoreset is the same.

        Args:
            act: given (num_envs,) booleans of the worlds that go on, acts in them, and returns what
                :meth:`.CraftWorlds.step` does.
        """
        if None in self._generators:
            raise ValueError("the worlds must be reset before their first step")
        ended = self.worlds.ended
        if self.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            raise ValueError(f"world {ended.argmax()} has ended; reset it before the next step")
        rewards, terminated, truncated = act(~ended)
        final = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = terminated | truncated
            final = self._final(ended)
        self._begin(np.flatnonzero(ended))
        info = final | self._info(np.ones(self.num_envs, bool))
        return self.worlds.observe(), rewards.astype(float), terminated, truncated, info

    def render(self) -> tuple[str | np.ndarray, ...] | None:
        """Every world in the way of ``render_mode``; None without one."""
        if self.render_mode is None:
            return None
        return tuple(rendered(self.worlds, i, self.render_mode) for i in range(self.num_envs))

    def seeds_of(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """The seed of each world that ``reset(seed=seed)`` means.

        Raises:
            ValueError: not as many seeds.
        """
        if seed is None or isinstance(seed, int | np.integer):
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"there are {len(seed)} seeds for {self.num_envs} worlds")
        return list(seed)

    def _mask(self, options: dict[str, Any] | None) -> np.ndarray:
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ValueError(f"reset_mask must be {self.num_envs} booleans, one of them True")
        return mask

    def _seed(self, seeds: Sequence[int | None], which: np.ndarray):
        for i in which:
            if seeds[i] is not None or self._generators[i] is None:
                self._generators[i], self._seeds[i] = seeding.np_random(seeds[i])

    def _begin(self, which: np.ndarray):
        if len(which):
            self.worlds.reset(which, [self._generators[i] for i in which])

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        """What gymnasium wants to know of the worlds whose episode ended in this step."""
        if not ended.any():
            return {}
        last = np.full(self.num_envs, None, object)
        observed = self.worlds.observe()
        for i in np.flatnonzero(ended):
            last[i] = observed[i].copy()
        return {
            "final_obs": last, "_final_obs": ended.copy(),
            "final_info": self._info(ended), "_final_info": ended.copy(),
        }  # fmt: skip

    def _info(self, told: np.ndarray) -> dict[str, np.ndarray]:
        """The information of some worlds, in gymnasium's form."""
        info = {}
        for name, values in info_of(self.worlds).items():
            info |= {name: np.where(told, values, values.dtype.type(0)), f"_{name}": told.copy()}
        return info
