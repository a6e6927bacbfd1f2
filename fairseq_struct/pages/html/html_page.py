"""The frame of self-contained HTML pages with SVG pictures."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px system-ui, sans-serif; margin: 2em; color: #222; }}
svg {{ display: block; margin: 0.5em 0 2em; }}
{style}
</style></head><body>
<h1>{title}</h1>
"""


def html_page(title: str, parts: Iterable[str], style: str = "") -> str:
    """Make a self-contained HTML page.

    Args:
        title: title of the page, plain text.
        parts: body of the page, HTML.
        style: additional CSS.
    """
    return "".join([_HEAD.format(title=escape(title), style=style), *parts, "</body></html>\n"])
