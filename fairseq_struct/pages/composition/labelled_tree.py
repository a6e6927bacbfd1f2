"""Draws a constituency tree with labels."""

from __future__ import annotations

from typing import NamedTuple

from nltk import Tree

from fairseq_struct.pages.picture import Label, Line, Picture, Shape
from fairseq_struct.pages.word_places import columns_for

# From a level to the next one; from a label's line down to its branches, and to its top.
_STEP, _BELOW, _ABOVE, _MARGIN = 38, 5, 15, 18


class _Node(NamedTuple):
    """A constituent: its words, how far it is above them, and the numbers of its parts."""

    label: str
    start: int
    end: int
    level: int
    parts: tuple[int, ...]


def labelled_tree_picture(tree: Tree) -> Picture:
    """Draw a tree, words at the bottom; every label stands above the middle of its words.

    Args:
        tree: of any depth, with at least one word; a constituent may be without a label.
    """
    nodes = _nodes(tree)
    words = [node.label for node in sorted(nodes, key=lambda one: one.start) if not node.parts]
    phrases = [node for node in nodes if node.parts]
    columns = columns_for(words, [((node.start, node.end), node.label) for node in phrases])
    bottom = _MARGIN + nodes[-1].level * _STEP

    def place(node: _Node) -> tuple[float, float]:
        middle = (columns[node.start][0] + columns[node.end - 1][1]) / 2
        return middle, bottom - node.level * _STEP

    shapes: list[Shape] = []
    for node in phrases:
        x, y = place(node)
        below = [place(nodes[part]) for part in node.parts]
        bar = y + _BELOW + (_STEP - _BELOW - _ABOVE) / 2
        shapes.append(Line(x, y + _BELOW, x, bar))
        if len(below) > 1:
            shapes.append(Line(below[0][0], bar, below[-1][0], bar))
        shapes += [Line(under, bar, under, top - _ABOVE) for under, top in below]
    shapes += [Label(*place(node), node.label) for node in nodes]
    return Picture(columns[-1][1], bottom + 10, shapes)


def _nodes(tree: Tree) -> list[_Node]:
    """All nodes, words among them, parts before the whole."""
    found: list[_Node] = []
    done: list[int] = []  # nodes whose parent is not done yet
    at = 0
    waiting: list[tuple[Tree | str, bool]] = [(tree, False)]
    while waiting:
        node, ready = waiting.pop()
        if isinstance(node, str):
            done.append(len(found))
            found.append(_Node(node, at, at + 1, 0, ()))
            at += 1
        elif not ready:
            waiting += [(node, True), *((child, False) for child in reversed(node))]
        else:
            parts = tuple(done[len(done) - len(node) :])
            del done[len(done) - len(node) :]
            level = 1 + max(found[part].level for part in parts)
            start, end = found[parts[0]].start, found[parts[-1]].end
            done.append(len(found))
            found.append(_Node(node.label(), start, end, level, parts))
    return found
