"""Rank correlation between predicted and gold scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

# Name of the meter of all pairs of a validation: predicted and gold score, (pairs, 2).
PAIRS = "_pairs"


def rank_correlation(predicted: Sequence[float], gold: Sequence[float]) -> float:
    """100 rho, Spearman's correlation in percent.

    It is 0 for fewer than two scores, or if all predicted or all gold ones are equal, and NaN if a
    score is NaN or infinite.

    Args:
        predicted, gold: (n,) scores, as lists, tensors or arrays.

    Raises:
        ValueError: the numbers of scores differ.
    """
    predicted, gold = ([float(score) for score in scores] for scores in (predicted, gold))
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predicted scores for {len(gold)} gold ones")
    if not (np.isfinite(predicted).all() and np.isfinite(gold).all()):
        return float("nan")
    if len(set(predicted)) < 2 or len(set(gold)) < 2:
        return 0.0
    return 100 * float(spearmanr(predicted, gold).statistic)
