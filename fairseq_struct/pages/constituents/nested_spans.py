"""Constituents of a sentence as the nodes of a tree that is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairseq_struct.errors import InputError

Span = tuple[int, int]


class Node(NamedTuple):
    """A constituent.

    Attributes:
        span: its words (start, end), the end excluded.
        label: may be empty.
        level: how far it is above the words, from 1.
        parts: the spans of its parts, from left to right, and their levels, 0 for words.
    """

    span: Span
    label: str
    level: int
    parts: tuple[tuple[Span, int], ...]


def nested(count: int, spans: Sequence[Span], labels: Sequence[str]) -> list[Node]:
    """The nodes, parts before the whole.

    Args:
        count: number of words.
        spans: in any order; of equal ones, the first is the outermost. Those of one word and those
            that stand twice count only if they have a label.
        labels: of the spans, may be empty.

    Raises:
        InputError: spans that cross each other.
    """
    order = sorted(range(len(spans)), key=lambda one: (spans[one][0], -spans[one][1], one))
    found: list[Node] = []
    # Words and finished constituents that no other one holds yet, below those that wait for more.
    open_: list[tuple[Span, str, list[tuple[Span, int]]]] = [((0, count), "", [])]
    at = 0

    def close():
        span, label, parts = open_.pop()
        level = 1 + max(level for _, level in parts)
        found.append(Node(span, label, level, tuple(parts)))
        open_[-1][2].append((span, level))

    def read_to(place: int):
        nonlocal at
        while True:
            end = open_[-1][0][1]
            while at < min(place, end):
                open_[-1][2].append(((at, at + 1), 0))
                at += 1
            if len(open_) == 1 or at < end:
                return
            close()

    for number in order:
        span, label = spans[number], labels[number]
        read_to(span[0])
        outer = open_[-1][0]
        if span[1] > outer[1]:
            raise InputError(f"spans: {outer} and {span} cross each other")
        again = len(open_) > 1 and span == outer
        if label or (span[1] - span[0] > 1 and not again):
            open_.append((span, label, []))
    read_to(count)
    return found
