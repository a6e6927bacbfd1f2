"""Rows of pictures as a file: a page, SVG, PNG, or TikZ, as its name says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.rows import Row, sheet

FORMATS = (".html", ".svg", ".png", ".tex")


def write_pictures(
    file: BinaryIO, suffix: str, rows: Sequence[Row], title: str = "", note: str = ""
):
    """Write rows of pictures.

    Args:
        file: open for writing.
        suffix: one of :data:`FORMATS`.
        rows: from top to bottom.
        title: above them.
        note: text below the title of a page; other formats leave it out.

    Raises:
        InputError: the PNG would be too large, TikZ cannot show images, or an unknown suffix.
    """
    if suffix == ".html":
        from fairseq_struct.pages.html.gallery import gallery_page

        file.write(gallery_page(rows, title, note).encode())
    elif suffix == ".svg":
        file.write(sheet(rows, title).svg_file().encode())
    elif suffix == ".png":
        from fairseq_struct.pages.drawing.png import write_png

        write_png(file, sheet(rows, title))
    elif suffix == ".tex":
        from fairseq_struct.pages.drawing.tikz import tikz

        file.write(tikz(sheet(rows, title)).encode())
    else:
        raise InputError(f"a picture ends in one of {', '.join(FORMATS)}, not {suffix!r}")
