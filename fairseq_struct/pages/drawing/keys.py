"""The heading above a picture, and the line below it that tells how much differs from gold."""

from __future__ import annotations

from fairseq_struct.pages.drawing.shapes import BLACK, GREEN, RED, Label, Picture
from fairseq_struct.pages.drawing.text import SMALL_SIZE, width_of

HEADING = 26
_GAP, _LINE = 14, 22


def with_heading(picture: Picture, title: str | None) -> Picture:
    """The picture with a title in its upper :data:`HEADING` pixels, which must be free."""
    if not title:
        return picture
    wide = _as_wide(picture, width_of(title))
    heading = Label(wide.width / 2, 15, title)
    return wide._replace(shapes=[heading, *wide.shapes], told=f"{title}. {picture.told}")


def with_key(picture: Picture, found: str) -> Picture:
    """The picture, and below it how much differs, and what the colours mean.

    Args:
        picture: with ``differences``.
        found: how much differs from gold, in words.
    """
    texts = [(found, BLACK)]
    if picture.differences:
        texts += [("predicted", RED), ("gold", GREEN)]
    widths = [width_of(text, SMALL_SIZE) for text, _ in texts]
    wide = _as_wide(picture, sum(widths) + _GAP * (len(widths) - 1))
    x, y = (wide.width - sum(widths) - _GAP * (len(widths) - 1)) / 2, wide.height + 14
    shapes = list(wide.shapes)
    for (text, colour), width in zip(texts, widths, strict=True):
        shapes.append(Label(x + width / 2, y, text, SMALL_SIZE, colour))
        x += width + _GAP
    return wide._replace(
        height=wide.height + _LINE, shapes=shapes, told=f"{picture.told} ({found})"
    )


def _as_wide(picture: Picture, width: float) -> Picture:
    """The picture in the middle of an area that is at least so wide."""
    lacking = width + 2 - picture.width
    if lacking <= 0:
        return picture
    return picture.moved(lacking / 2, 0.0)._replace(width=picture.width + lacking)
