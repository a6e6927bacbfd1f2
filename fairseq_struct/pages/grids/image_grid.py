"""Draws small grey images in rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.drawing.shapes import Image, Label, Picture, Pixels, Shape
from fairseq_struct.pages.drawing.text import width_of

_GAP, _HEAD, _SIDE = 6, 24, 84  # side of an image in pixels: that of MNIST, three times


def image_grid(
    rows: Sequence[tuple[str, Sequence[Pixels]]], columns: Sequence[str] = ()
) -> Picture:
    """Draw rows of images of one size.

    Args:
        rows: the name of each row, and its images, as many as the others have; each is rows of
            numbers from 0 for black to 1 for white.
        columns: names above the images; none if empty.

    Raises:
        ValueError: rows of different lengths, or none.
    """
    counts = {len(images) for _, images in rows}
    if len(counts) != 1 or (columns and len(columns) not in counts):
        raise ValueError("a grid needs rows with the same number of images")
    left = max(width_of(name) for name, _ in rows) + 2 * _GAP
    head = _HEAD if columns else 0
    shapes: list[Shape] = [
        Label(left + place * (_SIDE + _GAP) + _SIDE / 2, head - 8, name)
        for place, name in enumerate(columns)
    ]
    for number, (name, images) in enumerate(rows):
        top = head + number * (_SIDE + _GAP)
        shapes.append(Label(left / 2, top + _SIDE / 2 + 5, name))
        for place, pixels in enumerate(images):
            hint = ", ".join(filter(None, [name, columns[place] if columns else ""]))
            shapes.append(Image(left + place * (_SIDE + _GAP), top, _SIDE, _SIDE, pixels, hint))
    return Picture(left + counts.pop() * (_SIDE + _GAP), head + len(rows) * (_SIDE + _GAP), shapes)
