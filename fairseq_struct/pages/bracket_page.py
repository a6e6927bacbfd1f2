"""Draws constituency trees as SVG pictures in one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fairseq_struct.pages.html_page import html_page

_LETTER, _GAP, _STEP, _MARGIN = 8.5, 18, 24, 10
_STYLE = "rect { fill: #c44536; }"


def bracket_page(
    sentences: Iterable[tuple[Sequence[str], Sequence[tuple[int, int]], Sequence[float] | None]],
    title: str = "Constituency trees",
) -> str:
    """Draw constituency trees in an HTML page.

    Args:
        sentences: for each sentence its words, spans, and distances (drawn as bars) or None.
        title: title of the page.
    """
    return html_page(title, (bracket_picture(*sentence) for sentence in sentences), _STYLE)


def bracket_picture(
    words: Sequence[str], spans: Sequence[tuple[int, int]], distances: Sequence[float] | None = None
) -> str:
    """Draw one tree as an ``svg`` element; the page has its styles.

    Args:
        words: words of the sentence.
        spans: constituents that do not cross, as ``tree_of_distances`` returns them.
        distances: drawn as bars below the words, the longest bar for the largest distance.
    """
    centres, x = [], _GAP / 2
    for word in words:
        width = max(len(word), 2) * _LETTER
        centres.append(x + width / 2)
        x += width + _GAP
    # Inner constituents first: each is drawn one step above its highest part.
    places: dict[int, tuple[float, int, tuple[int, int]]] = {
        i: (centre, 0, (i, i + 1)) for i, centre in enumerate(centres)
    }
    lines, highest = [], 0
    for start, end in sorted(set(spans), key=lambda span: span[1] - span[0]):
        if end - start < 2:
            continue
        children, at = [], start
        while at < end:
            children.append(places[at])
            at = children[-1][2][1]
        level = 1 + max(child[1] for child in children)
        middle = (children[0][0] + children[-1][0]) / 2
        lines += [(middle, level, child[0], child[1]) for child in children]
        highest = max(highest, level)
        places[start] = (middle, level, (start, end))
    bottom = _MARGIN + highest * _STEP
    paths = "".join(
        f'<path d="M{x1:.1f},{bottom - y1 * _STEP:.1f} L{x2:.1f},{bottom - y2 * _STEP:.1f}"/>'
        for x1, y1, x2, y2 in lines
    )
    texts = "".join(
        f'<text x="{centre:.1f}" y="{bottom + 16:.1f}">{escape(word)}</text>'
        for centre, word in zip(centres, words, strict=True)
    )
    bars = ""
    if distances is not None:
        largest = max(max(distances), 1e-9)
        bars = "".join(
            f'<rect x="{centre - 4:.1f}" y="{bottom + 24:.1f}" width="8" '
            f'height="{30 * distance / largest:.1f}"><title>{distance:.3f}</title></rect>'
            for centre, distance in zip(centres, distances, strict=True)
        )
    height = bottom + (60 if bars else 26)
    return f'<svg width="{x:.0f}" height="{height:.0f}" role="img">{paths}{texts}{bars}</svg>\n'
