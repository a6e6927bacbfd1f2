"""Tools of policies that act: rollouts, trajectories, options as actions of environments.

They are imported on first use, because :class:`.OptionEnv` alone needs gymnasium.
"""

from importlib import import_module

_HOMES = {"OptionEnv": "option_env", "OptionPlayer": "player", "Trajectory": "player"}
__all__ = [*_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
