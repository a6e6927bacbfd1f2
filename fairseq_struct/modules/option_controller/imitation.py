"""What a policy says of demonstrations."""

from typing import NamedTuple

import torch
from torch import Tensor


class Imitation(NamedTuple):
    """Probabilities of the actions of demonstrations, and what a policy believes of subtasks.

    All values are 0 at padding.

    Attributes:
        log_probabilities: (batch, steps, actions) log p_t^a, in float32 or more.
        ends: (batch, steps) e_t: how much the policy believes that a subtask ended at t - 1. It is
            from 0 to 1; for a memory policy, the expected height of the slot that expands.
        options: (batch, steps, K) p_t^c, the distribution over options; None without options.
        extra_loss: () a loss beside that of the actions, summed over steps; None without one.
    """

    log_probabilities: Tensor
    ends: Tensor
    options: Tensor | None = None
    extra_loss: Tensor | None = None


def log_of(probabilities: Tensor) -> Tensor:
    """The logarithm of a mixture of probabilities, clamped to the smallest normal number."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()


def known_tasks(tasks: Tensor, count: int) -> Tensor:
    """Numbers of tasks, if there are so many tasks.

    Raises:
        ValueError: names the first number that is none of a task. On a GPU, where a look at the
            numbers would wait for it, the embedding refuses them in its own words.
    """
    wrong = (tasks < 0) | (tasks >= count)
    if tasks.device.type == "cpu" and wrong.any():
        raise ValueError(f"there is no task {int(tasks[wrong][0])}; tasks are 0 to {count - 1}")
    return tasks
