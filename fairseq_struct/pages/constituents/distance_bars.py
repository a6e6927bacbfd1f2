"""Draws syntactic distances as bars below their words, with a scale."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.inputs import numbers_in
from fairseq_struct.pages.drawing.shapes import BLUE, GREY, Box, Label, Line, Shape
from fairseq_struct.pages.drawing.text import SMALL_SIZE, width_of
from fairseq_struct.pages.drawing.word_places import Columns

_HEIGHT, _BAR, _MARGIN = 46, 10, 10


def scale_width(distances: Sequence[float]) -> float:
    """Room that the numbers of the scale take at the left of the bars."""
    texts = [_number(value) for value in _range([float(value) for value in distances])]
    return max(width_of(text, SMALL_SIZE) for text in texts) + 8


def distance_bars(
    words: Sequence[str], distances: Sequence[float], columns: Columns, top: float
) -> tuple[list[Shape], float]:
    """A bar for each distance; lines at zero, and at both ends of the scale.

    If the distances are large and close to each other, the scale begins just below the smallest.

    Args:
        words: words of the sentence.
        distances: one for each word, drawn below it, or for each gap between two words.
        columns: where the words are.
        top: y of the upper end.

    Returns:
        The shapes, and y of the lower end.

    Raises:
        InputError: distances that belong neither to the words nor to their gaps, or that are not
            finite, or whose differences are not.
    """
    values = numbers_in(distances, "distances")
    if len(values) not in (len(words), len(words) - 1) or not values:
        raise InputError(f"distances: {len(values)} for {len(words)} words")
    if len(values) == len(words):
        places = [(left + right) / 2 for left, right in columns]
        names = list(words)
    else:
        places = [right for _, right in columns[:-1]]
        names = [f"{one} | {other}" for one, other in zip(words, words[1:], strict=False)]
    low, high = _range(values)
    if not isfinite(high - low):
        raise InputError(f"distances: no scale goes from {low:g} to {high:g}")
    top += _MARGIN

    def y_of(value: float) -> float:
        return top + _HEIGHT * (high - value) / (high - low)

    left = columns[0][0]
    shapes: list[Shape] = []
    for value in dict.fromkeys((low, max(low, 0.0), high)):
        y, text = y_of(value), _number(value)
        shapes.append(Line(left, y, columns[-1][1], y, GREY, 0.6))
        shapes.append(Label(left - 4 - width_of(text, SMALL_SIZE) / 2, y + 4, text, SMALL_SIZE))
    for x, value, name in zip(places, values, names, strict=True):
        ends = sorted((y_of(value), y_of(max(low, 0.0))))
        hint = f"{name}: {value:.3f}"
        shapes.append(Box(x - _BAR / 2, ends[0], _BAR, ends[1] - ends[0], BLUE, 0.8, hint))
    return shapes, top + _HEIGHT + _MARGIN


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Where the scale begins and ends: at zero, unless all distances lie close to each other."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low > 0.8 * high > 0 and low < high:
        return low - 0.1 * (high - low), high
    low, high = min(0.0, low), max(0.0, high)
    return (low, high) if high > low else (0.0, 1.0)


def _number(value: float) -> str:
    return f"{value:.4g}"
