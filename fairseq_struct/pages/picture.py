"""Pictures of a few shapes, in pixels from the top left: as SVG, or drawn into a PNG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import NamedTuple

BLUE, RED, GREY, BLACK = "#1b6ca8", "#c44536", "#cccccc", "#222222"
# Width of a letter, and the size of letters.
LETTER, LETTER_SIZE = 8.5, 14
# How matplotlib draws images whose pixels are 0 for black and 1 for white.
GREYS = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0}
Pixels = Sequence[Sequence[float]]


class Line(NamedTuple):
    """A branch of a tree."""

    x1: float
    y1: float
    x2: float
    y2: float

    def svg(self) -> str:
        """A ``path``, which the page gives its style."""
        return f'<path d="M{self.x1:.1f},{self.y1:.1f} L{self.x2:.1f},{self.y2:.1f}"/>'


class Box(NamedTuple):
    """A rectangle, ``shade`` (0 to 1) of its colour; ``hint`` is told under the mouse."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    shade: float = 1.0
    hint: str = ""
    edge: str = "none"

    def svg(self) -> str:
        """A ``rect``."""
        return (
            f'<rect x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}" '
            f'height="{self.height:.1f}" fill="{self.colour}" fill-opacity="{self.shade:.3f}" '
            f'stroke="{self.edge}"><title>{escape(self.hint)}</title></rect>'
        )


class Dot(NamedTuple):
    """A disc; the mouse reaches what is below it."""

    x: float
    y: float
    radius: float
    colour: str

    def svg(self) -> str:
        """A ``circle``."""
        return (
            f'<circle cx="{self.x:.1f}" cy="{self.y:.1f}" r="{self.radius:.2f}" '
            f'fill="{self.colour}" pointer-events="none"/>'
        )


class Label(NamedTuple):
    """A text, centred at x, above the line y."""

    x: float
    y: float
    text: str

    def svg(self) -> str:
        """A ``text``."""
        return f'<text x="{self.x:.1f}" y="{self.y:.1f}">{escape(self.text)}</text>'


class Image(NamedTuple):
    """A grey image, stretched to a rectangle; ``hint`` is told under the mouse."""

    x: float
    y: float
    width: float
    height: float
    pixels: Pixels
    hint: str = ""

    def svg(self) -> str:
        """An ``image`` that holds a PNG."""
        from matplotlib.image import imsave

        with BytesIO() as file:
            imsave(file, self.pixels, format="png", **GREYS)
            content = b64encode(file.getvalue()).decode()
        return (
            f'<image x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}" '
            f'height="{self.height:.1f}" preserveAspectRatio="none" '
            f'style="image-rendering: pixelated" href="data:image/png;base64,{content}">'
            f"<title>{escape(self.hint)}</title></image>"
        )


class Arc(NamedTuple):
    """An arrow from x1 up to ``height`` above the line y, and down to x2.

    If both are the same, the arrow comes straight from above.
    """

    x1: float
    x2: float
    y: float
    height: float
    colour: str

    def bend(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The two inner points of the Bezier curve, whose top is at 3/4 of their height."""
        top = self.y - self.height * 4 / 3
        return (self.x1, top), (self.x2, top)

    def tip(self) -> list[tuple[float, float]]:
        """The corners of the arrow's head."""
        return [(self.x2, self.y), (self.x2 - 3, self.y - 7), (self.x2 + 3, self.y - 7)]

    def svg(self) -> str:
        """A ``path`` and a ``polygon``."""
        if self.x1 == self.x2:
            curve = f"M{self.x1:.1f},{self.y - self.height:.1f} V{self.y:.1f}"
        else:
            (x1, y1), (x2, y2) = self.bend()
            curve = (
                f"M{self.x1:.1f},{self.y:.1f} C{x1:.1f},{y1:.1f} {x2:.1f},{y2:.1f} "
                f"{self.x2:.1f},{self.y:.1f}"
            )
        tip = " ".join(f"{x:.1f},{y:.1f}" for x, y in self.tip())
        return (
            f'<path d="{curve}" style="stroke:{self.colour}"/>'
            f'<polygon points="{tip}" fill="{self.colour}"/>'
        )


Shape = Line | Box | Dot | Label | Image | Arc


class Picture(NamedTuple):
    """Shapes, the later above the earlier, on an area that holds them."""

    width: float
    height: float
    shapes: Sequence[Shape]

    def svg(self) -> str:
        """An ``svg`` element."""
        inside = "".join(shape.svg() for shape in self.shapes)
        return (
            f'<svg width="{self.width:.0f}" height="{self.height:.0f}" role="img">{inside}</svg>\n'
        )
