"""Draws which labels a classifier takes for which."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.inputs import table_of
from fairseq_struct.pages.drawing.shapes import BLUE, GREY, Box, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import SMALL_SIZE, shortened, width_of

# What a reader of the pictures must know.
LEGEND = (
    "A row for each true label, a column for each predicted one, with the number of instances. The "
    "darker a cell, the larger its share of the row; the mouse tells it."
)
_DARKEST, _CELL, _GAP = 0.75, 34, 8


def confusion_matrix(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Picture:
    """Draw a table of counts, each row shaded by its own shares.

    Args:
        labels: names of the labels.
        counts: [true][predicted], 0 or more.

    Raises:
        InputError: no label, or counts that are not those of the labels.
    """
    labels = [str(label) for label in labels]
    if not labels:
        raise InputError("labels: a table needs at least one")
    n = len(labels)
    table = table_of(counts, "counts", n, n)
    if any(count < 0 or count != int(count) for row in table for count in row):
        raise InputError("counts: not all are whole numbers, 0 or more")
    counts = [[int(count) for count in row] for row in table]
    names = [shortened(label) for label in labels]
    texts = [*names, *(str(count) for row in counts for count in row)]
    width = max(_CELL, *(width_of(text) + 12 for text in texts))
    left = max(map(width_of, [*names, "true"])) + 2 * _GAP
    top = 44
    shapes: list[Shape] = [
        Label(left + n * width / 2, 12, "predicted", SMALL_SIZE),
        Label(left / 2, top - 10, "true", SMALL_SIZE),
    ]
    for place, name in enumerate(names):
        shapes.append(Label(left + (place + 0.5) * width, top - 10, name))
    for row, (name, own) in enumerate(zip(names, counts, strict=True)):
        y, total = top + row * _CELL, max(sum(own), 1)
        shapes.append(Label(left - _GAP - width_of(name) / 2, y + _CELL / 2 + 5, name))
        for column, count in enumerate(own):
            share = count / total
            hint = f"{labels[row]} as {labels[column]}: {count} of {sum(own)} ({100 * share:.1f} %)"
            x = left + column * width
            shapes.append(Box(x, y, width, _CELL, BLUE, _DARKEST * share, hint, GREY))
            shapes.append(Label(x + width / 2, y + _CELL / 2 + 5, str(count), hint=hint))
    told = f"Confusion of the labels {', '.join(labels)}"
    return Picture(left + n * width + 1, top + n * _CELL + 2, shapes, told)
