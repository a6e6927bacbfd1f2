"""Draws how a sentence is composed: attention and span of every step, and the units' weights.

Source: figure FC4.2 of Verma's thesis (2022) on recurrent independent mechanisms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairseq_struct.pages.drawing.shapes import BLACK, BLUE, GREY, RED, Box, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import width_of
from fairseq_struct.pages.drawing.word_places import GAP, columns_for

# What a reader of the pictures must know.
LEGEND = (
    "From top to bottom: the steps, and the category that each makes. Cells are the symbols of the "
    "current sequence, above the words they cover: the darker, the more attention. Below them is "
    "the span: red, the gold one; black, the model's own, if it runs freely. Then come the weights "
    "of the active units; a dot stands for a unit that is not active."
)
_CELL, _SPAN, _SPACE = 20, 7, 14
# Labels are to be read in full cells, too.
_DARKEST = 0.6
_WEIGHT = 50


class DrawnStep(NamedTuple):
    """A step.

    Args:
        symbols: of the current sequence: span (start, end) of its words, its name or None, and its
            attention from 0 to 1.
        span: (start, end) of words, of the step.
        name: of the new symbol, may be empty.
        shares: weights of the units, 0 for one that is not active; empty without units.
    """

    symbols: Sequence[tuple[tuple[int, int], str | None, float]]
    span: tuple[int, int]
    name: str = ""
    shares: Sequence[float] = ()


def step_grid(words: Sequence[str], steps: Sequence[DrawnStep], gold: bool) -> Picture:
    """Draw the steps of one sentence, in a grid each.

    Args:
        words: words of the sentence.
        steps: from the first one on.
        gold: whether the spans are gold.
    """
    titles = [f"{number} {step.name}".strip() for number, step in enumerate(steps, 1)]
    left = max(map(width_of, titles), default=0.0) + GAP
    columns = [(left + start, left + end) for start, end in columns_for(words, _names(steps))]
    shapes, y = _words(words, columns, 0.0), float(_CELL)
    for title, step in zip(titles, steps, strict=True):
        shapes.append(Label(width_of(title) / 2, y + 15, title))
        shapes += _symbols(step, words, columns, y)
        start, end = columns[step.span[0]][0], columns[step.span[1] - 1][1]
        hint = " ".join(words[slice(*step.span)])
        shapes.append(
            Box(start + 1, y + _CELL + 2, end - start - 2, _SPAN, RED if gold else BLACK, hint=hint)
        )
        y += _CELL + _SPAN + 4
        if step.shares:
            shapes += _weights(step.shares, left, y)
            y += _CELL
        y += _SPACE
    shapes += _words(words, columns, y - 4)
    units = max((len(step.shares) for step in steps), default=0)
    return Picture(max(columns[-1][1], left + units * _WEIGHT) + 1, y + 20, shapes)


def _names(steps: Sequence[DrawnStep]) -> Iterable[tuple[tuple[int, int], str]]:
    """All names of symbols, with their spans; each once."""
    return dict.fromkeys(
        (tuple(span), name) for step in steps for span, name, _ in step.symbols if name
    )


def _words(words: Sequence[str], columns: Sequence[tuple[float, float]], y: float) -> list[Shape]:
    return [
        Label((start + end) / 2, y + 15, word)
        for word, (start, end) in zip(words, columns, strict=True)
    ]


def _symbols(
    step: DrawnStep, words: Sequence[str], columns: Sequence[tuple[float, float]], y: float
) -> list[Shape]:
    """A cell for each symbol; one without a name shows its words."""
    found: list[Shape] = []
    for (first, last), name, attention in step.symbols:
        start, end = columns[first][0], columns[last - 1][1]
        shade = _DARKEST * min(max(attention, 0.0), 1.0)
        own = " ".join(words[first:last])
        hint = f"{f'{name}: ' if name else ''}{own}: {attention:.3f}"
        found.append(Box(start, y, end - start, _CELL, BLUE, shade, hint, GREY))
        if name:
            found.append(Label((start + end) / 2, y + 15, name))
        else:
            found += _words(words[first:last], columns[first:last], y)
    return found


def _weights(shares: Sequence[float], left: float, y: float) -> list[Shape]:
    """A cell for each unit, with its weight."""
    found: list[Shape] = []
    for unit, share in enumerate(shares):
        x, hint = left + unit * _WEIGHT, f"unit {unit + 1}: {share:.3f}"
        found.append(Box(x, y, _WEIGHT, _CELL, RED, _DARKEST * share, hint, GREY))
        found.append(Label(x + _WEIGHT / 2, y + 15, f"{share:.2f}" if share else "·"))
    return found
