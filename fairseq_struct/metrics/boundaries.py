"""Boundaries of subtasks that a policy found in demonstrations, against the true ones.

The measures are like those of the code of Ordered Memory Policy Networks (Lu et al., 2021), which
counts other steps as boundaries (``docs/departures.md``). A boundary is the last step of a subtask.
An end e_t says that a subtask ended at t - 1, so e_1 says nothing, and the end of the last subtask
is the end of the demonstration, which needs no prediction: it is a boundary among the predicted
ones and among the true ones. So F1 is at least 1 / n where the number n of subtasks is told; where
it is not (:func:`boundaries_above`), a policy that sees no end has an F1 of 2 / (n + 1).
:func:`inner_boundaries` are those without it. If a step follows it, the action ``done``, that step
is not looked at.
"""

import torch
from torch import Tensor
from torch.nn import functional


def most_likely_boundaries(ends: Tensor, true: Tensor) -> Tensor:
    """As many boundaries as there are true ones: where e_t is largest.

    Among equal ends, the earliest are taken.

    Args:
        ends: (batch, steps) e_t, of any range.
        true: (batch, steps) booleans, the true boundaries, the last one included; one or more.

    Returns:
        (batch, steps) booleans; padding has no boundary.

    Raises:
        ValueError: an end is NaN.
    """
    if ends.isnan().any():
        raise ValueError("ends must not be NaN")
    steps, last = _steps(true)
    scores = ends.roll(-1, 1).double()
    scores = scores.masked_fill(steps == last, torch.inf).masked_fill(steps > last, -torch.inf)
    ranks = scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    return (ranks < true.sum(1, keepdim=True)) & (steps <= last)


def boundaries_above(ends: Tensor, true: Tensor, threshold: float = 0.5) -> Tensor:
    """Boundaries where e_t is above a threshold, without knowing how many there are.

    Args:
        ends: (batch, steps) e_t, from 0 to 1.
        true: (batch, steps) booleans, the true boundaries, of which the last one is used.
        threshold: of e_t.

    Returns:
        (batch, steps) booleans; padding has no boundary.
    """
    steps, last = _steps(true)
    return ((ends.roll(-1, 1) > threshold) & (steps < last)) | (steps == last)


def inner_boundaries(boundaries: Tensor, true: Tensor) -> Tensor:
    """Boundaries before the end of the last subtask.

    Args:
        boundaries: (batch, steps) booleans, predicted or true ones.
        true: (batch, steps) booleans, the true boundaries, the last one included.

    Returns:
        (batch, steps) booleans.
    """
    steps, last = _steps(true)
    return boundaries & (steps < last)


def _steps(true: Tensor) -> tuple[Tensor, Tensor]:
    """The places of steps (steps,), and that of the last boundary of each row (batch, 1)."""
    steps = torch.arange(true.shape[1], device=true.device)
    return steps, (steps * true).amax(1, keepdim=True)


def boundary_f1(predicted: Tensor, true: Tensor, tolerance: int = 1) -> Tensor:
    """F1 of the boundaries of each demonstration, from 0 to 1.

    Precision is the share of predicted boundaries with a true one at most ``tolerance`` steps away,
    recall the share of true boundaries with a predicted one as near. As in the published code, one
    boundary may serve several of the others.

    Args:
        predicted: (batch, steps) booleans.
        true: (batch, steps) booleans, at least one in a row.
        tolerance: in steps.

    Returns:
        (batch,) in float64.
    """
    precision = _near(predicted, true, tolerance)
    recall = _near(true, predicted, tolerance)
    total = precision + recall
    return 2 * precision * recall / total.masked_fill(total == 0, 1)


def _near(ours: Tensor, theirs: Tensor, tolerance: int) -> Tensor:
    """(batch,) the share of our boundaries that have one of theirs in their neighbourhood."""
    width = 2 * tolerance + 1
    reached = functional.max_pool1d(theirs[:, None].double(), width, 1, tolerance)[:, 0] > 0
    return (ours & reached).sum(1).double() / ours.sum(1).clamp(min=1)


def aligned_steps(predicted: Tensor, true: Tensor, subtasks: Tensor) -> Tensor:
    """At how many steps of each demonstration the decoded subtask is the true one.

    The steps up to the n-th predicted boundary get the n-th subtask of the task. Steps beyond the
    last subtask's boundary keep it.

    Args:
        predicted: (batch, steps) booleans.
        true: (batch, steps) booleans, at least one in a row.
        subtasks: (batch, steps) the true subtask of each step, -1 at padding.

    Returns:
        (batch,) numbers of steps.
    """
    order = torch.zeros_like(subtasks)
    rows, places = true.nonzero(as_tuple=True)
    order[rows, true.cumsum(1)[rows, places] - 1] = subtasks[rows, places]
    done = predicted.cumsum(1) - predicted.long()
    decoded = order.gather(1, done.minimum(true.sum(1, keepdim=True) - 1))
    return ((decoded == subtasks) & (subtasks >= 0)).sum(1)
