"""Pictures as PNG, drawn by matplotlib."""

from __future__ import annotations

import warnings
from typing import BinaryIO

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.shapes import (
    GREYS,
    Arc,
    Box,
    Dot,
    Image,
    Label,
    Line,
    Picture,
    Point,
)

_MARGIN = 24
# Dots per unit of a picture; the longest side and the largest area of a PNG, in dots.
_SCALE, _LONGEST, _LARGEST = 2, 30_000, 10**8


def write_png(file: BinaryIO, picture: Picture):
    """Draw a picture into a PNG, on white.

    Args:
        file: open for writing.
        picture: what is drawn.

    Raises:
        InputError: the PNG would be too large.
    """
    from matplotlib.figure import Figure

    width, height = picture.width + 2 * _MARGIN, picture.height + 2 * _MARGIN
    if max(width, height) * _SCALE > _LONGEST or width * height * _SCALE**2 > _LARGEST:
        raise InputError("the pictures are too large for one PNG")
    figure = Figure(figsize=(width / 72, height / 72), dpi=72 * _SCALE)
    area = (-_MARGIN, picture.width + _MARGIN)
    axes = figure.add_axes((0, 0, 1, 1), xlim=area, ylim=(picture.height + _MARGIN, -_MARGIN))
    axes.set_axis_off()
    _draw(axes, picture)
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


def _draw(axes, picture: Picture):
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle, Rectangle

    patches, faces, edges = [], [], []
    lines = [shape for shape in picture.shapes if isinstance(shape, Line)]
    for shape in picture.shapes:
        match shape:
            case Box(x, y, width, height, colour, shade, _, edge):
                patches.append(Rectangle((x, y), width, height))
                faces.append(to_rgba(colour, shade))
                edges.append(edge)
            case Dot(x, y, radius, colour):
                patches.append(Circle((x, y), radius))
                faces.append(to_rgba(colour))
                edges.append("none")
            case Image(x, y, width, height, pixels):
                place = x, x + width, y + height, y
                axes.imshow(pixels, extent=place, aspect="auto", interpolation="nearest", **GREYS)
            case Label(x, y, text, size, colour, _, starts):
                side = "left" if starts else "center"
                # Without parse_math, matplotlib would set words with two dollar signs as formulas.
                axes.text(x, y, text, size=size, ha=side, color=colour, parse_math=False)
            case Arc():
                _arc(axes, shape)
    axes.add_collection(
        LineCollection(
            [[(one.x1, one.y1), (one.x2, one.y2)] for one in lines],
            colors=[one.colour for one in lines],
            linewidths=[one.width for one in lines],
            capstyle="round",
        )  # fmt: skip
    )
    boxes = PatchCollection(patches, facecolors=faces, edgecolors=edges, linewidths=0.8)
    axes.add_collection(boxes)


def _arc(axes, arc: Arc):
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    start, *inner, end = arc.corners()
    points, codes = [start], [Path.MOVETO]
    for corner, before, after in zip(inner, [start, *inner], [*inner[1:], end], strict=False):
        points += [_towards(corner, before, arc.radius()), corner]
        points += [_towards(corner, after, arc.radius())]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    style = {"alpha": arc.shade, "edgecolor": arc.colour, "linewidth": 1.4}
    path = Path([*points, end], [*codes, Path.LINETO])
    axes.add_patch(PathPatch(path, fill=False, **style))
    axes.add_patch(Polygon(arc.tip(), facecolor=arc.colour, alpha=arc.shade))


def _towards(corner: Point, other: Point, radius: float) -> Point:
    """The point on the way from a corner to another one, so far from the corner."""
    (x, y), (there_x, there_y) = corner, other
    share = radius / max(abs(there_x - x) + abs(there_y - y), radius)
    return x + (there_x - x) * share, y + (there_y - y) * share
