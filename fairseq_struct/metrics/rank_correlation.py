"""Rank correlation between predicted and gold scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr


class RankCorrelation:
    """Spearman's correlation over all added pairs of scores, in percent.

    It has the interface of fairseq's meters, so that validation can log it.
    """

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget all scores."""
        self.predicted: list[float] = []
        self.gold: list[float] = []

    def update(self, predicted: Sequence[float], gold: Sequence[float]):
        """Add scores.

        Raises:
            ValueError: the numbers of scores differ, or a score is not finite.
        """
        predicted, gold = list(predicted), list(gold)
        if len(predicted) != len(gold):
            raise ValueError(f"{len(predicted)} predicted scores for {len(gold)} gold ones")
        if not np.isfinite([*predicted, *gold]).all():
            raise ValueError("scores must be finite")
        self.predicted += predicted
        self.gold += gold

    @property
    def value(self) -> float:
        """100 rho; 0 for fewer than two scores, or if all predicted or all gold ones are equal."""
        if len(set(self.predicted)) < 2 or len(set(self.gold)) < 2:
            return 0.0
        return 100 * float(spearmanr(self.predicted, self.gold).statistic)

    @property
    def smoothed_value(self) -> float:
        """``value`` rounded to two decimals, for logs."""
        return round(self.value, 2)

    def state_dict(self) -> dict:
        """The scores so far, for checkpoints."""
        return {"predicted": self.predicted, "gold": self.gold}

    def load_state_dict(self, state: dict):
        """Restores what :meth:`state_dict` returned."""
        self.predicted, self.gold = list(state["predicted"]), list(state["gold"])
