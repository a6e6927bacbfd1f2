"""The branches of a constituency tree, and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairseq_struct.pages.constituents.nested_spans import Node, Span
from fairseq_struct.pages.drawing.shapes import BLACK, BLUE, RED, Label, Line, Shape
from fairseq_struct.pages.drawing.word_places import Columns

# From a level to the next one, without and with labels; from a label's line down to its branches,
# and up to those above it; from a word's line up to the branches.
_STEP, _LABELLED_STEP, _BELOW, _ABOVE = 22, 38, 5, 15
_MARGIN = 18


def compared(spans: Iterable[Span], count: int) -> set[Span]:
    """The spans that are compared with gold ones: not those of one word, nor that of all words."""
    return {(start, end) for start, end in spans if 1 < end - start < count}


def branches(
    nodes: Sequence[Node],
    columns: Columns,
    top: float,
    labelled: bool = False,
    gold: set[Span] | None = None,
) -> tuple[list[Shape], float]:
    """Draw a tree from its root downwards; lines go straight around all labels.

    Args:
        nodes: of the tree.
        columns: where the words are.
        top: y of the upper end.
        labelled: whether there is room for labels.
        gold: spans that are right; others that :func:`compared` has are red. None: all are blue.

    Returns:
        Labels and lines, and y of the words.
    """
    step = _LABELLED_STEP if labelled else _STEP
    below, above = (_BELOW, _ABOVE) if labelled else (0, 0)
    highest = max((node.level for node in nodes), default=0)
    # Without labels, the lowest branches end above the letters of the words.
    bottom = top + _MARGIN + highest * step + (0 if labelled else _ABOVE - _BELOW)

    def place(span: Span, level: int) -> tuple[float, float]:
        middle = (columns[span[0]][0] + columns[span[1] - 1][1]) / 2
        return middle, bottom - level * step - (0 if labelled or not level else _ABOVE - _BELOW)

    shapes: list[Shape] = []
    for node in nodes:
        wrong = gold is not None and bool(compared([node.span], len(columns)) - gold)
        colour = RED if wrong else BLUE
        x, y = place(node.span, node.level)
        parts = [(*place(*part), part[1]) for part in node.parts]
        bar = y + below + (step - below - above) / 2 if labelled else y
        if labelled or node.level == highest:
            shapes.append(Line(x, y + below if labelled else y - 8, x, bar, colour))
        if len(parts) > 1:
            shapes.append(Line(parts[0][0], bar, parts[-1][0], bar, colour))
        for under, ends, level in parts:
            end = ends - (above if labelled else 0 if level else _ABOVE - 1)
            shapes.append(Line(under, bar, under, end, colour))
        if node.label:
            shapes.append(Label(x, y, node.label, colour=RED if wrong else BLACK))
    return shapes, bottom
