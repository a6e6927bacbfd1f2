"""Predictors of a step's span that read no word, to judge window accuracies by.

Transformation lists go from right to left, so the span of a step is near the right end of the
current sequence, and its place alone says much. All predictors here name one place of the current
sequence for each step. They know its length, and the steps of a training part at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairseq_struct.metrics.window_accuracy import WINDOWS, refuse_negative


@dataclass(frozen=True)
class Spans:
    """Gold spans of steps.

    Attributes:
        lengths: (steps,) symbols of the current sequence.
        starts, ends: (steps,) of the span in it, the end excluded.
    """

    lengths: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def place_hits(places: np.ndarray, spans: Spans, windows: Sequence[int] = WINDOWS) -> np.ndarray:
    """Whether places lie within spans or at most w symbols outside them.

    Args:
        places: (steps,) places of the current sequences, from 0.
        spans: the gold spans.
        windows: each w.

    Returns:
        (steps, len(windows)) booleans.

    Raises:
        ValueError: a window is below 0.
    """
    refuse_negative(windows)
    outside = np.maximum(spans.starts - places, places - (spans.ends - 1)).clip(min=0)
    return outside[:, None] <= np.asarray(windows)


def places_from_right(lengths: np.ndarray, distance: int) -> np.ndarray:
    """The place of the symbol at a distance from the right end, 1 being the last symbol.

    In a shorter sequence, it is the first symbol.
    """
    return np.maximum(np.asarray(lengths) - distance, 0)


def rightmost(lengths: np.ndarray) -> np.ndarray:
    """The last place of each sequence."""
    return places_from_right(lengths, 1)


def random_places(lengths: np.ndarray, seed: int) -> np.ndarray:
    """A place of each sequence, all of them equally likely."""
    return np.random.default_rng(seed).integers(0, lengths)


def constant_from_right(training: Spans, window: int) -> int:
    """The distance from the right end that is right most often with a window.

    Args:
        training: the steps of the training part.
        window: w.

    Returns:
        The distance, 1 for the last symbol; the smallest of equally good ones.
    """
    distances = range(1, int(training.lengths.max()) + 1)
    hits = [
        place_hits(places_from_right(training.lengths, distance), training, [window]).sum()
        for distance in distances
    ]
    return distances[int(np.argmax(hits))]


@dataclass(frozen=True)
class SpanPrior:
    """How often the spans of training cover each place, by the length of the current sequence.

    Attributes:
        covered: (longest + 1, longest) steps of each length whose span covers the symbol at each
            distance from the right end, 0 being the last symbol.
        steps: (longest + 1,) steps of each length.
    """

    covered: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, training: Spans) -> SpanPrior:
        """Count the steps of a training part."""
        lengths = training.lengths.astype(np.int64)
        longest = int(lengths.max())
        # A span adds 1 at its right end and takes it away beyond its left end; sums do the rest.
        changes = np.zeros((longest + 1, longest + 1), np.int64)
        np.add.at(changes, (lengths, lengths - training.ends), 1)
        np.add.at(changes, (lengths, lengths - training.starts), -1)
        steps = np.bincount(lengths, minlength=longest + 1)
        return cls(changes.cumsum(1)[:, :-1], steps)

    def shares(self, length: int) -> np.ndarray:
        """The share of steps that cover each place of a sequence of ``length`` symbols.

        For a length that training has not seen, steps of all lengths count. Those that are too
        short for a place do not cover it.

        Returns:
            (length,) from left to right, each from 0 to 1.
        """
        known = length < len(self.steps) and self.steps[length]
        covered = self.covered[length] if known else self.covered.sum(0)
        total = self.steps[length] if known else self.steps.sum()
        shares = np.zeros(length)
        size = min(length, len(covered))
        shares[:size] = covered[:size] / total
        return shares[::-1]

    def places(self, lengths: np.ndarray) -> np.ndarray:
        """The place of each sequence that is covered most often; the rightmost of equal ones."""
        best = {
            length: length - 1 - int(np.argmax(self.shares(length)[::-1]))
            for length in np.unique(lengths).tolist()
        }
        return np.array([best[length] for length in np.asarray(lengths).tolist()], np.int64)
