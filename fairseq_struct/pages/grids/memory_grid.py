"""Draws what a stack memory did: slots by steps, below the tree that it induced.

Source: Y. Shen's thesis, figure 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt

from fairseq_struct.pages.constituents.branches import branches
from fairseq_struct.pages.constituents.nested_spans import nested
from fairseq_struct.pages.drawing.inputs import (
    checked_spans,
    checked_words,
    shares_in,
    table_of,
)
from fairseq_struct.pages.drawing.shapes import BLUE, GREY, RED, Box, Dot, Label, Picture, Shape
from fairseq_struct.pages.drawing.word_places import columns_of

# What a reader of the pictures must know.
LEGEND = (
    "Columns are steps, rows are slots, the root N at the top. Blue: π→, how far the slot is in "
    "use at this step. The area of a red dot: p_t, how likely the head of the stack is there; the "
    "first word finds no slot. Slots that stay below 0.5 % are left out."
)
_ROW, _LEFT, _MARGIN = 24, 56, 10
# Less than this is not to be seen. A full cell is not darker than this, for the sake of the dots.
_LEAST, _DARKEST = 0.005, 0.6


def memory_grid(
    words: Sequence[str], pointers: Sequence[Sequence[float]], spans: Sequence[tuple[int, int]]
) -> Picture:
    """Draw the steps of one sentence.

    A cell is filled as far as its slot is in use, pi->_t^i = sum_{j <= i} p_t^j (eq. 3.5.3); the
    area of the dot in it is p_t^i (eq. 3.5.2).

    Args:
        words: words of the sentence, one for each step.
        pointers: p_t of each step, over the same slots; the last one is the root.
        spans: constituents of the tree.

    Raises:
        InputError: no word; steps that are not as many as the words, without a slot, or with other
            numbers than from 0 to 1; spans beyond the words or that cross each other.
    """
    words = checked_words(words)
    pointers = table_of(pointers, "pointers", len(words), kind=shares_in)
    spans = checked_spans(spans, len(words), "spans")
    columns = [(_LEFT + left, _LEFT + right) for left, right in columns_of(words)]
    centres = [(left + right) / 2 for left, right in columns]
    nodes = nested(len(words), spans, [""] * len(spans))
    lines, leaves = branches(nodes, columns, 0.0)
    shapes: list[Shape] = [*lines]
    top = leaves - _MARGIN
    steps = list(zip(words, columns, pointers, _in_use(pointers), strict=True))
    rows = max([1, *(sum(share >= _LEAST for share in used) for *_, used in steps)])
    for row in range(rows):
        name = f"N−{row}" if row else "N"
        shapes.append(Label(_LEFT / 2, top + row * _ROW + 17, name))
        for step, (word, (left, right), pointer, used) in enumerate(steps, 1):
            box = Box(left, top + row * _ROW, right - left, _ROW, BLUE)
            hint = f"slot {name}, step {step} ({word})"
            shapes += _cell(box, pointer[-1 - row], used[-1 - row], hint)
    bottom = top + rows * _ROW
    shapes += [Label(x, bottom + 16, word) for x, word in zip(centres, words, strict=True)]
    return Picture(columns[-1][1] + 1, bottom + 26, shapes)


def _in_use(pointers: Sequence[Sequence[float]]) -> list[list[float]]:
    """pi-> of each step."""
    return [[min(share, 1.0) for share in accumulate(pointer)] for pointer in pointers]


def _cell(box: Box, pointer: float, used: float, hint: str) -> list[Shape]:
    told = f"{hint}: in use {used:.3f}, p {pointer:.3f}"
    cell: list[Shape] = [box._replace(shade=_DARKEST * used, hint=told, edge=GREY)]
    if pointer >= _LEAST:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        cell.append(Dot(x, y, (_ROW / 2 - 3) * sqrt(pointer), RED))
    return cell
