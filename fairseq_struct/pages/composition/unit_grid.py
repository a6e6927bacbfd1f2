"""Draws how often the units of a network are active for each tag."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.drawing.shapes import BLUE, GREY, Box, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import width_of
from fairseq_struct.pages.drawing.word_places import GAP

# What a reader of the pictures must know.
LEGEND = (
    "Rows are tags with their numbers of steps, most frequent first; columns are units of the last "
    "layer. A cell tells in how many of a hundred steps that make the tag the unit is active. The "
    "caption has the normalised mutual information of the set of active units and the tag, from 0 "
    "to 100."
)
_CELL = 20
_DARKEST = 0.6


def unit_grid(
    tags: Sequence[str], counts: Sequence[int], active: Sequence[Sequence[int]]
) -> Picture:
    """Draw a row for each tag.

    Args:
        tags: their names.
        counts: steps of each, at least 1.
        active: for each tag and unit, the steps in which the unit is active.

    Raises:
        ValueError: the rows are not those of the tags.
    """
    if not tags or not len(tags) == len(counts) == len(active):
        raise ValueError(f"{len(counts)} counts and {len(active)} rows are not {len(tags)} tags'")
    names = [f"{tag} {count}" for tag, count in zip(tags, counts, strict=True)]
    left = max(map(width_of, names)) + GAP
    columns = [f"unit {unit}" for unit in range(1, len(active[0]) + 1)]
    width = max(map(width_of, columns)) + 6
    shapes: list[Shape] = [
        Label(left + (place + 0.5) * width, 15, name) for place, name in enumerate(columns)
    ]
    for row, (name, count, steps) in enumerate(zip(names, counts, active, strict=True), 1):
        y = row * _CELL
        shapes.append(Label(width_of(name) / 2, y + 15, name))
        for place, own in enumerate(steps):
            share = own / count
            hint = f"{name}, unit {place + 1}: active in {own}"
            x = left + place * width
            shapes.append(Box(x, y, width, _CELL, BLUE, _DARKEST * share, hint, GREY))
            shapes.append(Label(x + width / 2, y + 15, f"{100 * share:.0f}"))
    return Picture(left + len(columns) * width + 1, (len(names) + 1) * _CELL + 2, shapes)
