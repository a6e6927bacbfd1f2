"""Draws constituency trees above their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairseq_struct.errors import InputError
from fairseq_struct.pages.constituents.branches import branches, compared
from fairseq_struct.pages.constituents.distance_bars import distance_bars, scale_width
from fairseq_struct.pages.constituents.nested_spans import Span, nested
from fairseq_struct.pages.drawing.inputs import checked_spans, checked_words, numbers_in
from fairseq_struct.pages.drawing.keys import HEADING, with_heading, with_key
from fairseq_struct.pages.drawing.shapes import GREEN, Label, Line, Picture, Shape
from fairseq_struct.pages.drawing.stacking import stacked
from fairseq_struct.pages.drawing.text import runs_from_right, shortened
from fairseq_struct.pages.drawing.word_places import Columns, columns_for

if TYPE_CHECKING:
    from nltk import Tree

_WORDS, _BRACKET = 10, 14


def constituent_picture(
    words: Sequence[str],
    spans: Iterable[Span],
    *,
    labels: Sequence[str] | None = None,
    distances: Sequence[float] | None = None,
    gold: Iterable[Span] | None = None,
    title: str | None = None,
    key: bool = True,
) -> Picture:
    """Draw one tree, words at the bottom; every constituent stands above the middle of its words.

    Args:
        words: words of the sentence.
        spans: constituents (start, end), the end excluded, that do not cross; of equal spans, the
            first one is the outermost.
        labels: of the spans; constituents of one word are drawn if they have one.
        distances: of the words, or of the gaps between them; drawn as bars below.
        gold: the right spans. Others are red, and those that are missed are green brackets below.
            Spans of one word and of all words are not compared.
        title: a heading.
        key: whether a line below tells how many spans differ from ``gold``.

    Raises:
        InputError: no word, spans beyond the words or that cross each other, or labels or distances
            that are not those of the spans and words.
    """
    words = checked_words(words)
    spans = checked_spans(spans, len(words), "spans")
    names = [""] * len(spans) if labels is None else [str(label) for label in labels]
    if len(names) != len(spans):
        raise InputError(f"labels: {len(names)} for {len(spans)} spans")
    right = None if gold is None else compared(checked_spans(gold, len(words), "gold"), len(words))
    distances = None if distances is None else numbers_in(distances, "distances")
    nodes = nested(len(words), spans, names)
    shown = [shortened(word) for word in words]
    left = 0.0 if distances is None else scale_width(distances)
    columns = [
        (left + start, left + end)
        for start, end in columns_for(shown, [(one.span, one.label) for one in nodes])
    ]
    y = HEADING if title else 0
    shapes, y = branches(nodes, columns, y, labels is not None, right)
    for (start, end), text, word in zip(columns, shown, words, strict=True):
        shapes.append(Label((start + end) / 2, y, text, hint="" if text == word else word))
    y += _WORDS
    found = compared([node.span for node in nodes], len(words))
    missed = set() if right is None else right - found
    brackets, y = _brackets(missed, columns, y)
    shapes += brackets
    if distances is not None:
        bars, y = distance_bars(words, distances, columns, y)
        shapes += bars
    picture = Picture(columns[-1][1], y, shapes, f"Constituency tree of: {' '.join(words)}")
    if runs_from_right(words):
        picture = picture.mirrored()
    if right is not None:
        wrong = len(found - right)
        picture = picture._replace(differences=wrong + len(missed))
        told = f"{wrong} of {len(found)} spans wrong, {len(missed)} of {len(right)} missed"
        picture = with_key(picture, told) if key else picture
    return with_heading(picture, title)


def spans_and_labels(tree: Tree) -> tuple[list[str], list[Span], list[str]]:
    """Words, spans and labels of a tree of nltk, the outer ones first; of any depth.

    Args:
        tree: with at least one word; a constituent may be without a label.
    """
    words: list[str] = []
    spans: list[list[int]] = []
    labels: list[str] = []
    waiting: list[Tree | str | list[int]] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            words.append(node)
        elif type(node) is list:  # the span of a constituent whose parts are done
            node[1] = len(words)
        else:
            spans.append([len(words), 0])
            labels.append(node.label())
            waiting += [spans[-1], *reversed(node)]
    return words, [(start, end) for start, end in spans], labels


def _brackets(missed: Iterable[Span], columns: Columns, top: float) -> tuple[list[Shape], float]:
    """A bracket below the words of each span, and where they end."""
    levels = stacked({span: span for span in sorted(missed)})
    shapes: list[Shape] = []
    for (start, end), level in levels.items():
        left, right = columns[start][0] + 5, columns[end - 1][1] - 5
        y = top + level * _BRACKET - 4
        shapes.append(Line(left, y, right, y, GREEN))
        shapes += [Line(x, y, x, y - 6, GREEN) for x in (left, right)]
    return shapes, top + max(levels.values(), default=0) * _BRACKET + (4 if levels else 0)
