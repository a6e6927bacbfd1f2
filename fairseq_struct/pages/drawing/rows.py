"""Pictures that belong together, such as those of one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairseq_struct.pages.drawing.shapes import RED, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import SMALL_SIZE, WORD_SIZE, shortened, width_of

_TITLE_SIZE, _MOST_TOLD = 17, 3
# Between pictures; a line of text; from a heading to the next row; at the edges.
_GAP, _LINE, _BELOW, _MARGIN = 28, 22, 18, 8


class Row(NamedTuple):
    """Pictures below a heading, such as a sentence; each with a caption, which may be empty.

    Attributes:
        heading: plain text.
        pictures: captions and pictures.
        stacked: whether the pictures stand one below the other, their captions at the left. If not,
            they stand side by side, the captions above.
    """

    heading: str
    pictures: Sequence[tuple[str, Picture]]
    stacked: bool = False

    @property
    def differences(self) -> int:
        """How much of all pictures differs from gold."""
        return sum(picture.differences or 0 for _, picture in self.pictures)


def sheet(rows: Sequence[Row], title: str = "") -> Picture:
    """All pictures of all rows as a single one.

    Args:
        rows: from top to bottom.
        title: above them.
    """
    shapes, y, width = _text(title, 0.0, _TITLE_SIZE)
    y += _BELOW if title else 0
    for row in rows:
        heading, y, right = _text(row.heading, y)
        pictures, y, end = (_stacked if row.stacked else _beside)(row.pictures, y)
        shapes += [*heading, *pictures]
        y, width = y + _BELOW, max(width, right, end)
    told = list(dict.fromkeys(one.told for row in rows for _, one in row.pictures if one.told))
    told = "; ".join(told[:_MOST_TOLD]) + (" …" if len(told) > _MOST_TOLD else "")
    area = Picture(width, y - _BELOW if rows else y, shapes, told or title)
    framed = area.moved(_MARGIN, _MARGIN)
    return framed._replace(width=framed.width + _MARGIN, height=framed.height + _MARGIN)


def _text(text: str, y: float, size: float = WORD_SIZE) -> tuple[list[Shape], float, float]:
    """A line of text from the left edge; where it ends below and at the right."""
    if not text:
        return [], y, 0.0
    width = width_of(text, size)
    return [Label(0.0, y + size, text, size, starts=True)], y + _LINE, width


def _stacked(pictures: Sequence[tuple[str, Picture]], y: float) -> tuple[list[Shape], float, float]:
    names = [shortened(caption) for caption, _ in pictures]
    left = max((width_of(name) + _GAP for name in names if name), default=0.0)
    shapes, right = [], 0.0
    for name, (_, picture) in zip(names, pictures, strict=True):
        middle = y + picture.height / 2 + 5
        if name:
            shapes.append(Label(0.0, middle, name, starts=True))
            if picture.differences:
                found = f"{picture.differences} differ"
                shapes.append(Label(0.0, middle + 16, found, SMALL_SIZE, RED, starts=True))
        shapes += picture.moved(left, y).shapes
        y, right = y + picture.height + _BELOW, max(right, left + picture.width)
    return shapes, y - _BELOW if pictures else y, right


def _beside(pictures: Sequence[tuple[str, Picture]], y: float) -> tuple[list[Shape], float, float]:
    line = _LINE if any(caption for caption, _ in pictures) else 0
    bottom = y + line + max((picture.height for _, picture in pictures), default=0.0)
    shapes, left = [], 0.0
    for caption, picture in pictures:
        top = bottom - picture.height
        if caption:
            shapes.append(Label(left, top - 8, caption, starts=True))
        shapes += picture.moved(left, top).shapes
        left += max(picture.width, width_of(caption)) + _GAP
    return shapes, bottom, max(left - _GAP, 0.0)
