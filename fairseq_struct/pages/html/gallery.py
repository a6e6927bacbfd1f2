"""Pictures in rows, as one self-contained HTML page to turn over and to search.

The first rows are plain HTML. The others are text that a browser makes pictures of when they are
shown, so that a page of thousands of sentences opens at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from fairseq_struct.pages.drawing.rows import Row
from fairseq_struct.pages.drawing.text import in_markup
from fairseq_struct.pages.html.html_page import html_page
from fairseq_struct.pages.html.turning import CONTROLS, SCRIPT, STYLE

# Rows that are shown at a time.
SHOWN = 20


def gallery_page(rows: Iterable[Row], title: str, note: str = "") -> str:
    """Show pictures in an HTML page.

    Args:
        rows: from top to bottom.
        title: title of the page.
        note: text below the title.
    """
    rows = list(rows)
    drawn = [_article(number, row) for number, row in enumerate(rows, 1)]
    parts = [f'<p class="note">{in_markup(note)}</p>\n'] if note else []
    turned = len(rows) > SHOWN
    differences = sum(row.differences for row in rows)
    if turned or differences:
        parts.append(CONTROLS)
    parts += ['<main id="rows">\n', *drawn[:SHOWN], "</main>\n"]
    if turned:
        parts.append(
            f"<noscript><p>Without scripts, only the first {SHOWN} of {len(rows)} are "
            "shown.</p></noscript>\n"
        )
    if turned or differences:
        about = [[row.heading, row.differences] for row in rows]
        parts.append(_data('id="about"', about))
        starts = range(SHOWN, len(rows), SHOWN)
        parts += (_data('class="later"', drawn[start : start + SHOWN]) for start in starts)
        parts.append(SCRIPT.replace("SHOWN", str(SHOWN)))
    return html_page(title, parts, STYLE)


def _article(number: int, row: Row) -> str:
    """A row as HTML."""
    figures = []
    for caption, picture in row.pictures:
        if picture.differences:
            count = f'<b class="differ">{picture.differences} differ</b>'
            told = f"{in_markup(caption)} {count}".strip()
        else:
            told = in_markup(caption)
        told = f"<figcaption>{told}</figcaption>" if told else ""
        figures.append(
            f'<figure>{told}<div class="wide" tabindex="0">\n{picture.svg()}</div></figure>\n'
        )
    heading = f"<h2><small>{number}</small> {in_markup(row.heading)}</h2>\n" if row.heading else ""
    kind = "row stacked" if row.stacked else "row"
    return (
        f'<article id="r{number}" tabindex="-1">{heading}<div class="{kind}">\n'
        f"{''.join(figures)}</div></article>\n"
    )


def _data(attribute: str, value: list) -> str:
    """Data that the script reads; nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("</", "<\\/").replace("<!", "\\u003c!")
    return f'<script type="application/json" {attribute}>{text}</script>\n'
