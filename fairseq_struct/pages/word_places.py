"""Where words lie beside each other, and the branches of a tree above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from fairseq_struct.pages.picture import LETTER, Line

GAP = 18
# Height of a level of a tree.
STEP = 24


def columns_of(words: Sequence[str]) -> list[tuple[float, float]]:
    """Left and right end of each word's column, the gap between two words shared by both."""
    columns, x = [], 0.0
    for word in words:
        width = max(len(word), 2) * LETTER + GAP
        columns.append((x, x + width))
        x += width
    return columns


def columns_for(
    words: Sequence[str], labels: Iterable[tuple[tuple[int, int], str]]
) -> list[tuple[float, float]]:
    """Columns of words like :func:`columns_of`, wide enough for labels of spans of words.

    Args:
        words: of the sentence.
        labels: spans (start, end) of words, the end excluded, and the label of each.
    """
    widths = [right - left for left, right in columns_of(words)]
    for (start, end), label in sorted(labels, key=lambda one: one[0][1] - one[0][0]):
        lacking = len(label) * LETTER + GAP - sum(widths[start:end])
        if lacking > 0:
            widths[start:end] = [width + lacking / (end - start) for width in widths[start:end]]
    ends = list(accumulate(widths, initial=0.0))
    return list(pairwise(ends))


def branches(
    centres: Sequence[float], spans: Sequence[tuple[int, int]], top: float
) -> tuple[list[Line], float]:
    """Draw a tree from its root downwards.

    Args:
        centres: x of each word.
        spans: constituents that do not cross; those of one word are not drawn.
        top: y of the root.

    Returns:
        The branches, and y of the words.
    """
    # Inner constituents first: each is drawn one step above its highest part.
    places: dict[int, tuple[float, int, int]] = {
        i: (centre, 0, i + 1) for i, centre in enumerate(centres)
    }
    found, highest = [], 0
    for start, end in sorted(set(spans), key=lambda span: span[1] - span[0]):
        if end - start < 2:
            continue
        children, at = [], start
        while at < end:
            children.append(places[at])
            at = children[-1][2]
        level = 1 + max(height for _, height, _ in children)
        middle = (children[0][0] + children[-1][0]) / 2
        found += [(middle, level, x, height) for x, height, _ in children]
        highest = max(highest, level)
        places[start] = (middle, level, end)
    bottom = top + highest * STEP
    lines = [Line(x1, bottom - y1 * STEP, x2, bottom - y2 * STEP) for x1, y1, x2, y2 in found]
    return lines, bottom
