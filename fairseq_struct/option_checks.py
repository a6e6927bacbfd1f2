"""Checks of options: numbers, which are sizes, weights and shares; and of models by ``--task``."""

import math
from typing import Any

from fairseq_struct.errors import InputError


def option_name(name: str) -> str:
    """``--embed-dim`` of ``embed_dim``: a field as it is written on a command line."""
    return f"--{name.replace('_', '-')}"


def require_at_least(cfg: Any, least: float, *names: str):
    """Refuse numbers that are too small or not finite.

    Args:
        cfg: the options.
        least: the smallest number that is allowed.
        names: the fields to check.

    Raises:
        InputError: with the option and its value.
    """
    values_at_least(least, **{name: getattr(cfg, name) for name in names})


def values_at_least(least: float, **values: float):
    """As :func:`require_at_least`, of what fairseq gives one by one, as to a criterion.

    Args:
        least: the smallest number that is allowed.
        values: the values by field.

    Raises:
        InputError: with the option and its value.
    """
    for name, value in values.items():
        if not least <= value < math.inf:  # NaN, too
            raise InputError(f"{option_name(name)} must be {least} or more, not {value}")


def require_above_zero(cfg: Any, *names: str):
    """Refuse numbers that are not above 0 or not finite, such as a temperature of 0.

    Args:
        cfg: the options.
        names: the fields to check.

    Raises:
        InputError: with the option and its value.
    """
    for name in names:
        if not 0 < getattr(cfg, name) < math.inf:  # NaN, too
            raise InputError(f"{option_name(name)} must be above 0, not {getattr(cfg, name)}")


def require_share(cfg: Any, *names: str):
    """Refuse what is no share that leaves something, such as a dropout of 1.

    Args:
        cfg: the options.
        names: the fields to check.

    Raises:
        InputError: with the option and its value.
    """
    for name in names:
        if not 0 <= getattr(cfg, name) < 1:
            raise InputError(
                f"{option_name(name)} must be 0 or more and below 1, not {getattr(cfg, name)}"
            )


def require_task(model: type, task: Any):
    """Refuse a task that a model is not for.

    Args:
        model: class of the model, with the names of its tasks, ``for_tasks``.
        task: the task, which is known by its ``own_criterion``.

    Raises:
        InputError: it is none of these tasks.
    """
    if getattr(task, "own_criterion", None) not in model.for_tasks:
        raise InputError(f"{model.__name__} is for --task {' or '.join(model.for_tasks)}")
