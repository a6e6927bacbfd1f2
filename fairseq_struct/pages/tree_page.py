"""Draws dependency trees as arcs above their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fairseq_struct.pages.html_page import html_page
from fairseq_struct.pages.picture import BLUE, RED, Arc, Label, Picture, Shape
from fairseq_struct.pages.word_places import columns_of

_STEP, _BASE = 26, 26


def tree_page(
    sentences: Iterable[tuple[Sequence[str], Sequence[int], str]], title: str = "Dependency trees"
) -> str:
    """Draw dependency trees in an HTML page.

    Args:
        sentences: for each sentence its words, heads (1-based, 0 for the root) and a caption.
        title: title of the page.
    """
    parts = []
    for words, heads, caption in sentences:
        parts.append(f"<p>{escape(caption)}</p>\n" if caption else "")
        parts.append(tree_picture(words, heads).svg())
    return html_page(title, parts)


def tree_picture(
    words: Sequence[str], heads: Sequence[int], gold: Sequence[int] | None = None
) -> Picture:
    """Draw one tree; arcs point at modifiers.

    Args:
        words: words of the sentence.
        heads: 1-based, 0 for the root; an arc from the root is a vertical line from above.
        gold: the right heads; arcs that differ from them are red. Without them, the root's are.
    """
    columns = columns_of(words)
    centres = [(left + right) / 2 for left, right in columns]
    levels = _levels(heads)
    base = (max(levels, default=0) + 1) * _STEP + _BASE
    shapes: list[Shape] = []
    for modifier, head in enumerate(heads, 1):
        end = centres[modifier - 1]
        wrong = head == 0 if gold is None else head != gold[modifier - 1]
        colour = RED if wrong else BLUE
        if head == 0:
            shapes.append(Arc(end, end, base, base - 4, colour))
            continue
        # An arc ends on the side of the word that faces its head.
        side = 4 if head > modifier else -4
        height = levels[modifier - 1] * _STEP * 3 / 4 + 6
        shapes.append(Arc(centres[head - 1] - side, end + side, base, height, colour))
    shapes += [Label(x, base + 20, word) for x, word in zip(centres, words, strict=True)]
    return Picture(columns[-1][1], base + 30, shapes)


def _levels(heads: Sequence[int]) -> list[int]:
    """Height of each word's arc: one more than the highest arc below it."""
    arcs = sorted(
        (abs(head - modifier), modifier) for modifier, head in enumerate(heads, 1) if head
    )
    levels = [0] * len(heads)
    for _, modifier in arcs:
        low, high = sorted((heads[modifier - 1], modifier))
        below = [
            levels[other - 1]
            for other in range(low, high + 1)
            if other != modifier and levels[other - 1] and low <= heads[other - 1] <= high
        ]
        levels[modifier - 1] = 1 + max(below, default=0)
    return levels
