"""Craft as an environment of gymnasium. The rules are in :mod:`.craft_rules`."""

from __future__ import annotations

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
from fairseq_struct.environments.required_gymnasium import gymnasium


class CraftEnv(gymnasium.Env):
    """One world of Craft.

    ``info`` has ``success`` and ``failed``, how an episode ended, and ``done_subtasks``. The time
    limit is one of the rules, so that gymnasium's wrapper for it is not needed.

    Args:
        render_mode: ``rgb_array``, ``ansi`` for text, or None.
        options: as for :class:`.CraftOptions`: ``task``, ``reward``, and so on.

    Raises:
        InputError: impossible options.
    """

    metadata = METADATA

    def __init__(self, render_mode: str | None = None, **options):
        self.options = options_of(options, render_mode)
        self.render_mode = render_mode
        self.worlds = CraftWorlds(self.options, 1)
        self.observation_space = observation_space(self.options)
        self.action_space = action_space(self.options)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode on a new map.

        Args:
            seed: of this map and those of further resets; None goes on with the last seed.
            options: ignored.

        Returns:
            The observation and the information.

        Raises:
            InputError: maps so crowded that none can be solved.
        """
        super().reset(seed=seed)
        self.worlds.reset(np.zeros(1, np.int64), [self.np_random])
        self._begun = True
        return self.worlds.observe()[0], self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act once.

        Args:
            action: its number.

        Returns:
            The observation, the reward, whether the task has ended the episode, whether the time
            limit has, and the information.

        Raises:
            ValueError: no such action, or no episode has begun.
        """
        if not self._begun:
            raise ValueError("the world must be reset before its first step")
        rewards, terminated, truncated = self.worlds.step(np.array([action]))
        ends = bool(terminated[0]), bool(truncated[0])
        return self.worlds.observe()[0], float(rewards[0]), *ends, self._info()

    def render(self) -> str | np.ndarray | None:
        """The world in the way of ``render_mode``; None without one."""
        return self.render_mode and rendered(self.worlds, 0, self.render_mode)

    def _info(self) -> dict[str, Any]:
        return {name: values[0].item() for name, values in info_of(self.worlds).items()}
