"""Correlation between channels of a network and types of dependencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


class ChannelCorrelation:
    """Pearson correlation of channels with types of dependencies (table 8 of Shen's thesis, ch. 4).

    For each gold arc from a child to its parent, a^k is the probability that channel k carries the
    message from the child to the parent. y^l is 1 if the arc is of type l, else 0.
    rho_kl = cov(a^k, y^l) / (sigma(a^k) sigma(y^l)) (eq. 4.3.1).

    Args:
        channels: number of channels, summed over all layers.

    Raises:
        ValueError: ``channels`` is below 1.
    """

    def __init__(self, channels: int):
        if channels < 1:
            raise ValueError("there must be at least one channel")
        self.counts: Counter[str] = Counter()
        self._sums: dict[str, np.ndarray] = {}
        self._squares = np.zeros(channels)

    def add(self, shares: np.ndarray, types: Sequence[str]):
        """Add arcs.

        Args:
            shares: (arcs, channels) a^k.
            types: type of each arc.

        Raises:
            ValueError: the shape does not fit the types and channels, or a share is not finite.
        """
        shares = np.asarray(shares, np.float64)
        expected = (len(types), len(self._squares))
        if shares.shape != expected:
            raise ValueError(f"shares of shape {shares.shape}, not {expected}")
        if not np.isfinite(shares).all():
            raise ValueError("shares must be finite")
        self._squares += (shares**2).sum(0)
        for name in set(types):
            own = np.array([other == name for other in types])
            self.counts[name] += int(own.sum())
            self._sums[name] = self._sums.get(name, 0.0) + shares[own].sum(0)

    def types(self, most: int | None = None) -> list[str]:
        """Types by decreasing frequency, then by name; at most ``most`` of them."""
        return sorted(self.counts, key=lambda name: (-self.counts[name], name))[:most]

    def correlations(self, types: Sequence[str]) -> np.ndarray:
        """rho (types, channels); 0 for a channel or a type that never varies.

        Raises:
            KeyError: no arc is of one of the types.
            ValueError: no arc was added.
        """
        for name in types:
            if name not in self._sums:
                raise KeyError(name)
        if not self.counts:
            raise ValueError("no arc was added, so there are no correlations")
        total = sum(self.counts.values())
        mean = sum(self._sums.values()) / total
        spread = np.sqrt(np.maximum(self._squares / total - mean**2, 0.0))
        rows = []
        for name in types:
            share = self.counts[name] / total
            covariance = self._sums[name] / total - mean * share
            scale = spread * np.sqrt(share * (1 - share))
            # A constant's spread is not exactly 0, because of rounding.
            varies = scale > 1e-7 * np.maximum(np.abs(mean), 1e-7)
            rows.append(np.where(varies, covariance / np.where(varies, scale, 1.0), 0.0))
        return np.array(rows).reshape(len(rows), len(spread))
