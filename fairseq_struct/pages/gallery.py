"""Pictures side by side in rows, as one self-contained HTML page or as one PNG."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from html import escape
from typing import BinaryIO, NamedTuple

from fairseq_struct.pages.html_page import html_page
from fairseq_struct.pages.picture import (
    BLACK,
    BLUE,
    GREYS,
    LETTER,
    LETTER_SIZE,
    Arc,
    Box,
    Dot,
    Image,
    Label,
    Line,
    Picture,
)

_STYLE = (
    ".row { display: flex; flex-wrap: wrap; gap: 0 3em; align-items: end; }"
    " figure { margin: 0; } figcaption { color: #555; }"
)
_GAP, _LINE = 40, 22
# Dots per unit of a picture; the longest side and the largest area of a PNG, in dots.
_SCALE, _LONGEST, _LARGEST = 2, 30_000, 10**8


class Row(NamedTuple):
    """Pictures side by side, below a heading; each with a caption, which may be empty."""

    heading: str
    pictures: Sequence[tuple[str, Picture]]


def gallery_page(rows: Iterable[Row], title: str, note: str = "") -> str:
    """Show pictures in an HTML page.

    Args:
        rows: from top to bottom.
        title: title of the page.
        note: text below the title.
    """
    parts = [f"<p>{escape(note)}</p>\n"] if note else []
    for row in rows:
        figures = (
            f"<figure><figcaption>{escape(caption)}</figcaption>\n{picture.svg()}</figure>\n"
            for caption, picture in row.pictures
        )
        parts += [f"<p>{escape(row.heading)}</p>\n", '<div class="row">\n', *figures, "</div>\n"]
    return html_page(title, parts, _STYLE)


def write_gallery(file: BinaryIO, rows: Sequence[Row], title: str):
    """Draw pictures into a PNG.

    Args:
        file: open for writing.
        rows: from top to bottom.
        title: above them.

    Raises:
        ValueError: the PNG would be too large.
    """
    from matplotlib.figure import Figure

    width = max([len(title) * LETTER, *map(_width_of, rows)]) + 2 * _GAP
    height = sum(_height_of(row) for row in rows) + 2 * _LINE
    if max(width, height) * _SCALE > _LONGEST or width * height * _SCALE**2 > _LARGEST:
        raise ValueError("the pictures are too large for one PNG")
    figure = Figure(figsize=(width / 72, height / 72), dpi=72 * _SCALE)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _write(axes, _GAP, 1.2 * _LINE, title, weight="bold")
    top = 2 * _LINE
    for row in rows:
        _write(axes, _GAP, top + _LINE / 2, row.heading)
        left, bottom = _GAP, top + _height_of(row) - _LINE
        for caption, picture in row.pictures:
            start = bottom - picture.height
            _write(axes, left, start - _LINE / 2, caption, color="#555555")
            _draw(axes, picture, left, start)
            left += max(picture.width, len(caption) * LETTER) + _GAP
        top += _height_of(row)
    save_png(figure, file)


def save_png(figure, file: BinaryIO):
    """Write a figure of matplotlib as a PNG; letters without a glyph are told in one warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        figure.savefig(file, format="png")
    missing = [one for one in told if "missing from font" in str(one.message)]
    for one in told:
        if one not in missing:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if missing:
        warnings.warn(
            f"{len(missing)} letters have no glyph in the fonts of pictures; a page (.html) has "
            "the fonts of its reader",
            stacklevel=3,
        )


def _width_of(row: Row) -> float:
    sizes = [max(one.width, len(caption) * LETTER) for caption, one in row.pictures]
    return max(sum(sizes) + _GAP * (len(sizes) - 1), len(row.heading) * LETTER)


def _height_of(row: Row) -> float:
    return max(picture.height for _, picture in row.pictures) + 3 * _LINE


def _write(axes, x: float, y: float, text: str, **style):
    # Without parse_math, matplotlib would set words with two dollar signs as formulas.
    axes.text(x, y, text, family="monospace", size=LETTER_SIZE, parse_math=False, **style)


def _draw(axes, picture: Picture, left: float, top: float):
    """Draw a picture with its corner at (left, top)."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle, Rectangle

    patches, faces, edges, lines = [], [], [], []
    for shape in picture.shapes:
        match shape:
            case Line(x1, y1, x2, y2):
                lines.append([(left + x1, top + y1), (left + x2, top + y2)])
            case Box(x, y, width, height, colour, shade, _, edge):
                patches.append(Rectangle((left + x, top + y), width, height))
                faces.append(to_rgba(colour, shade))
                edges.append(edge)
            case Dot(x, y, radius, colour):
                patches.append(Circle((left + x, top + y), radius))
                faces.append(to_rgba(colour))
                edges.append("none")
            case Image(x, y, width, height, pixels):
                place = left + x, left + x + width, top + y + height, top + y
                axes.imshow(pixels, extent=place, aspect="auto", interpolation="nearest", **GREYS)
            case Label(x, y, text):
                _write(axes, left + x, top + y, text, ha="center", color=BLACK)
            case Arc():
                _arc(axes, shape, left, top)
    axes.add_collection(LineCollection(lines, colors=BLUE, linewidths=1.4))
    boxes = PatchCollection(patches, facecolors=faces, edgecolors=edges, linewidths=0.8)
    axes.add_collection(boxes)


def _arc(axes, arc: Arc, left: float, top: float):
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    if arc.x1 == arc.x2:
        points = [(arc.x1, arc.y - arc.height), (arc.x2, arc.y)]
        codes = [Path.MOVETO, Path.LINETO]
    else:
        points = [(arc.x1, arc.y), *arc.bend(), (arc.x2, arc.y)]
        codes = [Path.MOVETO, *[Path.CURVE4] * 3]
    placed = [(left + x, top + y) for x, y in points]
    axes.add_patch(PathPatch(Path(placed, codes), fill=False, edgecolor=arc.colour, linewidth=1.4))
    tip = [(left + x, top + y) for x, y in arc.tip()]
    axes.add_patch(Polygon(tip, facecolor=arc.colour))
