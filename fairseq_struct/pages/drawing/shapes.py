"""Pictures of a few shapes, in pixels from the top left: as SVG, or drawn into PNG and TikZ."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

from fairseq_struct.pages.drawing.text import FONTS, WORD_SIZE, in_markup

# To be read on white and on black; a colour-blind reader tells them apart, too.
BLUE, RED, GREEN, GREY, BLACK = "#2f7fc1", "#d9512c", "#1d9a6c", "#999999", "#222222"
STROKE = 1.4
# How matplotlib draws images whose pixels are 0 for black and 1 for white.
GREYS = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0}
Pixels = Sequence[Sequence[float]]
Point = tuple[float, float]
# Only a file of its own is the root; in a page, the page says which colour its text has.
OWN_COLOURS = (
    "<style>svg:root{color:#222;color-scheme:light dark}"
    "@media(prefers-color-scheme:dark){svg:root{color:#e8e8e8}}</style>"
)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _told(hint: str) -> str:
    return f"<title>{in_markup(hint)}</title>" if hint else ""


def _ink(colour: str) -> str:
    return "currentColor" if colour == BLACK else colour


class Line(NamedTuple):
    """A straight line, such as a branch of a tree."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = BLUE
    width: float = STROKE

    def svg(self) -> str:
        """A ``path``."""
        x1, y1, x2, y2 = map(_number, self[:4])
        width = "" if self.width == STROKE else f' stroke-width="{self.width:g}"'
        return f'<path d="M{x1},{y1}L{x2},{y2}" stroke="{_ink(self.colour)}"{width}/>'


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
        x, y, width, height = map(_number, self[:4])
        return (
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
            f'fill="{_ink(self.colour)}" fill-opacity="{self.shade:.3f}" '
            f'stroke="{self.edge}" stroke-width="0.8">{_told(self.hint)}</rect>'
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
            f'<circle cx="{_number(self.x)}" cy="{_number(self.y)}" r="{self.radius:.2f}" '
            f'fill="{_ink(self.colour)}" pointer-events="none"/>'
        )


class Label(NamedTuple):
    """A text above the line y, centred at x or starting there; the mouse tells its ``hint``."""

    x: float
    y: float
    text: str
    size: float = WORD_SIZE
    colour: str = BLACK
    hint: str = ""
    starts: bool = False

    def svg(self) -> str:
        """A ``text``."""
        size = "" if self.size == WORD_SIZE else f' font-size="{self.size:g}"'
        size += ' text-anchor="start"' if self.starts else ""
        return (
            f'<text x="{_number(self.x)}" y="{_number(self.y)}"{size} '
            f'fill="{_ink(self.colour)}">{in_markup(self.text)}{_told(self.hint)}</text>'
        )


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
        x, y, width, height = map(_number, self[:4])
        return (
            f'<image x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="none" '
            f'style="image-rendering: pixelated" href="data:image/png;base64,{content}">'
            f"{_told(self.hint)}</image>"
        )


class Arc(NamedTuple):
    """An arrow from x1 up to ``height`` above the line y, and down to x2, with round corners.

    A negative height is below the line. If both ends are the same, the arrow comes straight.
    ``shade`` (0 to 1) is its opacity; ``hint`` is told under the mouse.
    """

    x1: float
    x2: float
    y: float
    height: float
    colour: str
    shade: float = 1.0
    hint: str = ""

    def corners(self) -> list[Point]:
        """Its start, the corners before they are rounded, and its end within the arrow's head."""
        top, end = self.y - self.height, self.y - (4 if self.height > 0 else -4)
        if self.x1 == self.x2:
            return [(self.x1, top), (self.x2, end)]
        return [(self.x1, self.y), (self.x1, top), (self.x2, top), (self.x2, end)]

    def radius(self) -> float:
        """How far the corners are rounded."""
        return min(12.0, abs(self.x2 - self.x1) / 2, abs(self.height) / 1.5)

    def tip(self) -> list[Point]:
        """The corners of the arrow's head."""
        back = self.y - (7 if self.height > 0 else -7)
        return [(self.x2, self.y), (self.x2 - 3, back), (self.x2 + 3, back)]

    def svg(self) -> str:
        """A ``path`` and a ``polygon``."""
        (x1, y1), *_, (x2, y2) = points = self.corners()
        curve = f"M{_number(x1)},{_number(y1)}"
        if len(points) == 4:
            top, r = points[1][1], self.radius()
            across, down = (r if x2 > x1 else -r), (r if y1 > top else -r)
            curve += (
                f"V{_number(top + down)}Q{_number(x1)},{_number(top)} {_number(x1 + across)},"
                f"{_number(top)}H{_number(x2 - across)}Q{_number(x2)},{_number(top)} "
                f"{_number(x2)},{_number(top + down)}"
            )
        tip = " ".join(f"{_number(x)},{_number(y)}" for x, y in self.tip())
        faint = "" if self.shade >= 1 else f' opacity="{self.shade:.2f}"'
        return (
            f'<g{faint}><path d="{curve}V{_number(y2)}" stroke="{_ink(self.colour)}"/>'
            f'<polygon points="{tip}" fill="{_ink(self.colour)}"/>'
            f"{_told(self.hint)}</g>"
        )


Shape = Line | Box | Dot | Label | Image | Arc
# Fields that are places.
_ACROSS, _DOWN = ("x", "x1", "x2"), ("y", "y1", "y2")


def _moved(shape: Shape, right: float, down: float) -> Shape:
    """The same elsewhere."""
    by = dict.fromkeys(_ACROSS, right) | dict.fromkeys(_DOWN, down)
    return shape._replace(
        **{name: getattr(shape, name) + by[name] for name in shape._fields if name in by}
    )


def _mirrored(shape: Shape, width: float) -> Shape:
    """The same from the right of an area of this width."""
    own = shape.width if isinstance(shape, Box | Image) else 0.0
    return shape._replace(
        **{name: width - getattr(shape, name) - own for name in _ACROSS if name in shape._fields}
    )


class Picture(NamedTuple):
    """Shapes, the later above the earlier, on an area that holds them.

    Attributes:
        width, height: of the area.
        shapes: on it.
        told: what it shows, for readers who do not see it.
        differences: how many parts differ from the gold ones; None where nothing was compared.
    """

    width: float
    height: float
    shapes: Sequence[Shape]
    told: str = ""
    differences: int | None = None

    def svg(self) -> str:
        """An ``svg`` element of a page, in the page's colour of text."""
        return self._svg("", "")

    def svg_file(self) -> str:
        """An ``svg`` element that is a file by itself, too; dark where the reader wants it dark."""
        return self._svg(' xmlns="http://www.w3.org/2000/svg"', OWN_COLOURS)

    def mirrored(self) -> Picture:
        """The same from right to left; texts are not turned round."""
        return self._replace(shapes=[_mirrored(shape, self.width) for shape in self.shapes])

    def moved(self, right: float, down: float) -> Picture:
        """The same on an area that is larger at the left and above."""
        shapes = [_moved(shape, right, down) for shape in self.shapes]
        return self._replace(width=self.width + right, height=self.height + down, shapes=shapes)

    def _svg(self, namespace: str, style: str) -> str:
        inside = "".join(shape.svg() for shape in self.shapes)
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        told = f' aria-label="{in_markup(self.told)}"' if self.told else ""
        return (
            f'<svg{namespace} width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img"{told} fill="none" font-family="{FONTS}" font-size="{WORD_SIZE}" '
            f'text-anchor="middle" stroke-width="{STROKE}" stroke-linecap="round">'
            f"{style}{inside}</svg>\n"
        )
