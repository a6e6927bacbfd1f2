"""Where words lie beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from fairseq_struct.pages.drawing.text import width_of

GAP = 18
_NARROWEST = 17
Columns = list[tuple[float, float]]


def columns_of(words: Sequence[str]) -> Columns:
    """Left and right end of each word's column, the gap between two words shared by both."""
    return _columns([max(width_of(word), _NARROWEST) + GAP for word in words])


def columns_for(
    words: Sequence[str], labels: Iterable[tuple[tuple[int, int], str]], size: float | None = None
) -> Columns:
    """Columns of words like :func:`columns_of`, wide enough for labels of spans of words.

    Args:
        words: of the sentence.
        labels: spans (start, end) of words, the end excluded, and the label of each.
        size: of the labels; that of words if None.
    """
    widths = [right - left for left, right in columns_of(words)]
    sizes = () if size is None else (size,)
    for (start, end), label in sorted(labels, key=lambda one: one[0][1] - one[0][0]):
        lacking = width_of(label, *sizes) + GAP - sum(widths[start:end])
        if lacking > 0:
            widths[start:end] = [width + lacking / (end - start) for width in widths[start:end]]
    return _columns(widths)


def columns_apart(
    words: Sequence[str], apart: Iterable[tuple[int, int, float]], least: Sequence[float] = ()
) -> Columns:
    """Columns of words like :func:`columns_of`, pairs of whose middles lie far enough apart.

    Args:
        words: of the sentence.
        apart: two places of words, the lower first, and how far apart their middles are at least.
        least: how wide each column is at least; 0 if empty.
    """
    widths = [right - left for left, right in columns_of(words)]
    if least:
        widths = [max(pair) for pair in zip(widths, least, strict=True)]
    for low, high, distance in sorted(apart, key=lambda one: one[1] - one[0]):
        lacking = distance - sum(widths[low:high]) - (widths[high] - widths[low]) / 2
        if lacking > 0:
            share = lacking / (high - low)
            for place in range(low, high + 1):
                widths[place] += share
    return _columns(widths)


def _columns(widths: Sequence[float]) -> Columns:
    return list(pairwise(accumulate(widths, initial=0.0)))
