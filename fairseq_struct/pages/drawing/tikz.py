"""Pictures as TikZ, for papers; nothing but the package ``tikz`` is needed.

pdfTeX has Latin letters alone; words of other scripts are for LuaTeX or XeTeX, in a document whose
fonts have them.
"""

from __future__ import annotations

import unicodedata

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.shapes import BLACK, Arc, Box, Dot, Image, Label, Line, Picture
from fairseq_struct.pages.drawing.text import WORD_SIZE, visible

# A pixel of a screen is three quarters of a point.
_POINTS = 0.75
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}",
    "-": "-{}", "\n": " ", "…": r"\ldots{}", "→": r"$\rightarrow$", "−": r"$-$", "·": r"$\cdot$",
}  # fmt: skip


def tikz(picture: Picture) -> str:
    """A ``tikzpicture`` with the same shapes; words are set in the fonts of the document.

    Raises:
        InputError: the picture holds images.
    """
    colours: dict[str, str] = {}
    lines = [_drawn(shape, colours) for shape in picture.shapes]
    named = [
        rf"  \definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}"
        for colour, name in colours.items()
    ]
    frame = rf"  \path[use as bounding box] (0,0) rectangle {_at(picture.width, picture.height)};"
    begin = (
        rf"\begin{{tikzpicture}}[x={_POINTS}pt, y=-{_POINTS}pt, line width=0.7pt, inner sep=0pt]"
    )
    about = f"% {visible(' '.join(picture.told.split()))}"
    return "\n".join([about, begin, *named, frame, *lines, r"\end{tikzpicture}", ""])


def escaped(text: str) -> str:
    """A text in which nothing is a command of TeX.

    Letters with accents become one character each, because pdfTeX has no accents by themselves.
    """
    composed = unicodedata.normalize("NFC", visible(text))
    return "".join(_ESCAPES.get(letter, letter) for letter in composed)


def _at(x: float, y: float) -> str:
    return f"({x:.1f},{y:.1f})"


def _drawn(shape, colours: dict[str, str]) -> str:
    def name_of(colour: str) -> str:
        if colour in (BLACK, "none"):
            return "black" if colour == BLACK else "none"
        return colours.setdefault(colour, f"picture{chr(ord('A') + len(colours))}")

    match shape:
        case Line(x1, y1, x2, y2, colour, width):
            return (
                rf"  \draw[{name_of(colour)}, line width={width / 2:g}pt] "
                f"{_at(x1, y1)} -- {_at(x2, y2)};"
            )
        case Box(x, y, width, height, colour, shade, _, edge):
            return (
                rf"  \path[fill={name_of(colour)}, fill opacity={shade:.3f}, "
                f"draw={name_of(edge)}] {_at(x, y)} rectangle {_at(x + width, y + height)};"
            )
        case Dot(x, y, radius, colour):
            return (
                rf"  \fill[{name_of(colour)}] {_at(x, y)} circle[radius={radius * _POINTS:.2f}pt];"
            )
        case Label(x, y, text, size, colour, _, starts):
            font = "" if size >= WORD_SIZE else r", font=\footnotesize"
            side = "base west" if starts else "base"
            return rf"  \node[anchor={side}, text={name_of(colour)}{font}] at {_at(x, y)} " + (
                f"{{{escaped(text)}}};"
            )
        case Arc():
            path = " -- ".join(_at(*point) for point in shape.corners())
            tip = " -- ".join(_at(*point) for point in shape.tip())
            colour, shade = name_of(shape.colour), f"opacity={max(shape.shade, 0.0):.2f}"
            corners = f"rounded corners={shape.radius() * _POINTS:.1f}pt"
            return (
                rf"  \draw[{colour}, {shade}, {corners}] {path};" + "\n"
                rf"  \fill[{colour}, {shade}] {tip} -- cycle;"
            )
        case Image():
            raise InputError("images are not drawn in TikZ; a PNG can be included")
    raise TypeError(f"no shape: {shape!r}")
