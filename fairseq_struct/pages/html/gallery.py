"""Pictures in rows, as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from fairseq_struct.pages.drawing.rows import Row
from fairseq_struct.pages.html.html_page import html_page

_STYLE = (
    ".row { display: flex; flex-wrap: wrap; gap: 0 3em; align-items: end; }"
    " figure { margin: 0; } figcaption { color: #555; }"
)


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
