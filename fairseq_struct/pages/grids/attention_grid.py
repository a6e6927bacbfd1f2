"""Draws attention weights as a grid (figure 5.4 of Mihaylova's thesis)."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.drawing.inputs import checked_words, shares_in, table_of
from fairseq_struct.pages.drawing.shapes import BLUE, GREY, Box, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import width_of

# What a reader of the pictures must know.
LEGEND = "Each row is a position, its cells the positions that it attends to: the darker, the more."
_CELL = 20


def attention_grid(words: Sequence[str], weights: Sequence[Sequence[float]]) -> Picture:
    """Draw the weights of one sequence.

    Args:
        words: of the sequence.
        weights: for each position, the weight of every position, from 0 to 1.

    Raises:
        InputError: no word, or weights that are not from 0 to 1 or not as many as the words.
    """
    words = checked_words(words)
    weights = table_of(weights, "weights", len(words), len(words), shares_in)
    widest = max(map(width_of, words))
    left, width = widest + 8, max(_CELL, widest + 2)
    shapes: list[Shape] = []
    for row, (word, attended) in enumerate(zip(words, weights, strict=True)):
        shapes.append(Label(widest / 2, row * _CELL + 15, word))
        for column, (other, weight) in enumerate(zip(words, attended, strict=True)):
            hint = f"{row + 1} ({word}) to {column + 1} ({other}): {weight:.3f}"
            shapes.append(
                Box(left + column * width, row * _CELL, width, _CELL, BLUE, weight, hint, GREY)
            )
    bottom = len(words) * _CELL
    shapes += [
        Label(left + (column + 0.5) * width, bottom + 16, word) for column, word in enumerate(words)
    ]
    return Picture(left + len(words) * width + 1, bottom + 26, shapes)
