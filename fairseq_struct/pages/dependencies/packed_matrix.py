"""Draws the packed matrix of a tree, or of the marginals of its arcs.

Source: T. Mihaylova's thesis, figure 5.7.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.drawing.inputs import checked_words, shares_in, table_of
from fairseq_struct.pages.drawing.shapes import BLUE, GREY, Box, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import width_of

# What a reader of the pictures must know.
LEGEND = (
    "A row for each head, a column for each modifier; on the diagonal are the arcs from the root. "
    "The darker a cell, the likelier is its arc. On the page, the mouse tells the numbers."
)
_CELL, _MARGIN = 24, 8


def packed_matrix(words: Sequence[str], values: Sequence[Sequence[float]]) -> Picture:
    """Draw a matrix of arcs.

    Args:
        words: words of the sentence.
        values: (n, n) from 0 to 1; [h][m] is the arc from word h to word m, counted from 0, and
            [m][m] that from the root to m.

    Raises:
        InputError: no word, no row and column for each word, or values that are not from 0 to 1.
    """
    words = checked_words(words)
    n = len(words)
    values = table_of(values, "the matrix", n, n, shares_in)
    names = [f"{place} {word}" for place, word in enumerate(words, 1)]
    left = max(map(width_of, names)) + 2 * _MARGIN
    shapes: list[Shape] = []
    for column, place in enumerate(range(1, n + 1)):
        shapes.append(Label(left + (column + 0.5) * _CELL, _CELL - 7, str(place)))
    for row, name in enumerate(names):
        top = (row + 1) * _CELL
        shapes.append(Label(left - _MARGIN - width_of(name) / 2, top + 17, name))
        for column, word in enumerate(words):
            head = "root" if row == column else words[row]
            value = values[row][column]
            hint = f"{head} → {word}: {value:.3f}"
            shapes.append(Box(left + column * _CELL, top, _CELL, _CELL, BLUE, value, hint, GREY))
    return Picture(left + n * _CELL + 1, (n + 1) * _CELL + 2, shapes)
