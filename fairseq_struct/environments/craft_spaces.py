"""What both environments of Craft share: spaces, rendering, and what they tell beside rewards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairseq_struct.environments.craft_picture import draw_picture
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.required_gymnasium import gymnasium
from fairseq_struct.errors import InputError, unknown_name

RENDER_MODES = ("rgb_array", "ansi")
METADATA = {"render_modes": list(RENDER_MODES), "render_fps": 4}


def options_of(values: Mapping, render_mode: str | None) -> CraftOptions:
    """The options that an environment was made with.

    Raises:
        InputError: an unknown option, an impossible value, or an unknown way to render.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise InputError(unknown_name("render_mode", render_mode, RENDER_MODES))
    return CraftOptions.from_dict(values)


def observation_space(options: CraftOptions) -> gymnasium.spaces.Box:
    """Vectors with the parts of :meth:`.CraftOptions.layout`."""
    most = np.ones(options.observation_size, np.float32)
    most[options.layout()["inventory"]] = options.objects_per_kind
    return gymnasium.spaces.Box(np.zeros_like(most), most)


def action_space(options: CraftOptions) -> gymnasium.spaces.Discrete:
    """The numbers of the actions."""
    return gymnasium.spaces.Discrete(options.action_count)


def info_of(worlds: CraftWorlds) -> dict[str, np.ndarray]:
    """How each episode is: ``success``, ``failed``, and ``done_subtasks``."""
    return {
        "success": worlds.success, "failed": worlds.failed,
        "done_subtasks": worlds.done_subtasks.astype(np.int64),
    }  # fmt: skip


def rendered(worlds: CraftWorlds, index: int, mode: str) -> str | np.ndarray:
    """A world as text (``ansi``) or as a picture (``rgb_array``)."""
    if mode == "rgb_array":
        return draw_picture(worlds, index)
    done, task = worlds.arrays.done[index], worlds.options.task
    counts = zip(worlds.options.kinds, worlds.arrays.inventory[index], strict=True)
    has = " ".join(f"{kind}={count}" for kind, count in counts)
    return f"{worlds.text(index)}\ndone {task[:done] or '-'}, to do {task[done:] or '-'}, has {has}"
