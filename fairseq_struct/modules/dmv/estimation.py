"""Estimation of a Dependency Model with Valence: from counts, and by EM from tags alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from fairseq_struct.modules.dmv.counting import expected_counts
from fairseq_struct.modules.dmv.model import DMV
from fairseq_struct.structure.checks import whole_number


@dataclass(frozen=True)
class Fit:
    """What EM found.

    Attributes:
        model: the parameters.
        objectives: before each step, and at the end: the log likelihood in nats, plus ``smoothing``
            times the sum of all log probabilities of the model. It never falls.
        converged: whether the last step changed it by less than the tolerance.
    """

    model: DMV
    objectives: list[float]
    converged: bool


def from_counts(counts: DMV, smoothing: float = 0.0) -> DMV:
    """The M step: the log probabilities that are in proportion to the counts.

    Args:
        counts: 0 or more; where all alternatives have 0, they are equally likely.
        smoothing: added to every count.

    Raises:
        ValueError: smoothing below 0, or not finite; or such a count.
    """
    check_smoothing(smoothing)
    if not all(((table >= 0) & table.isfinite()).all() for table in counts):
        raise ValueError("counts must be 0 or more, and finite")
    return DMV(*(_normalised(table + smoothing) for table in counts))


def fit(
    start: DMV, sentences: Sequence[Sequence[int]], smoothing: float = 0.0,
    tolerance: float = 1e-5, most_steps: int = 500,
) -> Fit:  # fmt: skip
    """Expectation maximisation over all sentences at once; nothing in it is random.

    Args:
        start: first parameters, such as ``from_counts(harmonic_counts(sentences, tags))``.
        sentences: tags of each sentence.
        smoothing: added to every expected count.
        tolerance: EM ends when a step raises the objective by less than this share of it.
        most_steps: it ends after this many steps at the latest.

    Raises:
        TypeError, ValueError: options out of range; as for :meth:`.DMV.parse`.
    """
    check_smoothing(smoothing)
    whole_number("most_steps", most_steps, 1)
    if not (isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be 0 or more, not {tolerance}")
    model, objectives = start, []
    for step in range(most_steps + 1):
        likelihood, counts = expected_counts(model, sentences)
        objectives.append(likelihood + _log_prior(model, smoothing))
        if step and objectives[-1] - objectives[-2] <= tolerance * abs(objectives[-1]):
            return Fit(model, objectives, True)
        if step < most_steps:
            model = from_counts(counts, smoothing)
    return Fit(model, objectives, False)


def check_smoothing(smoothing: float):
    """Raise a ValueError if it is not a finite number of 0 or more."""
    if not (isfinite(smoothing) and smoothing >= 0):
        raise ValueError(f"smoothing must be 0 or more, not {smoothing}")


def _log_prior(model: DMV, smoothing: float) -> float:
    return smoothing * float(sum(table.sum() for table in model)) if smoothing else 0.0


def _normalised(table: Tensor) -> Tensor:
    total = table.sum(-1, keepdim=True)
    equal = torch.full_like(table, 1 / table.size(-1))
    return torch.where(total > 0, table / total, equal).log()
