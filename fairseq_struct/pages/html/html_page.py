"""The frame of self-contained HTML pages with SVG pictures, light or dark as the reader wants."""

from __future__ import annotations

from collections.abc import Iterable

from fairseq_struct.pages.drawing.text import in_markup

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
:root {{ color-scheme: light dark; --text: #222; --faint: #636363; --ground: #fff;
  --raised: #f4f5f6; --edge: #d9dcdf; --mark: #1f6fb2; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --text: #e6e6e6; --faint: #a3a8ad; --ground: #15181b; --raised: #1f2428;
    --edge: #363c42; --mark: #6db3ee; }}
}}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1em 1.5em 3em;
  color: var(--text); background: var(--ground); }}
h1 {{ font-size: 1.5em; margin: 0.5em 0; }}
svg {{ display: block; margin: 0.4em 0; }}
figcaption, .note {{ color: var(--faint); }}
.note {{ max-width: 50em; }}
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
    return "".join([_HEAD.format(title=in_markup(title), style=style), *parts, "</body></html>\n"])
