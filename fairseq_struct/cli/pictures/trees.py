"""Pictures of trees, of constituents and of dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fairseq_struct.data.readers.formulas.formula_trees import constituents, leaves
from fairseq_struct.errors import InputError

OF_GOLD = (
    "Red: what differs from the gold tree; green, below the words: the gold arcs and constituents "
    "that are missed."
)
OF_PROBABILITIES = "The fainter an arc, the less likely it is; the mouse tells the numbers."


class GoldTree(NamedTuple):
    """A gold tree of either kind.

    Attributes:
        words: of the sentence.
        kind: ``dependencies`` or ``constituents``.
        heads: 1-based, 0 for the root; empty for constituents.
        spans: (start, end) of the constituents, the outer ones first; empty for dependencies.
        labels: of the arcs, or of the spans; empty if there are none.
    """

    words: list[str]
    kind: str
    heads: Sequence[int] = ()
    spans: Sequence[tuple[int, int]] = ()
    labels: Sequence[str] = ()


def explain(compared: bool, faint: bool) -> str:
    """What colours and shades mean.

    Args:
        compared: whether the trees are drawn with gold ones.
        faint: whether less likely arcs are fainter.
    """
    told = {OF_GOLD: compared, OF_PROBABILITIES: faint}
    return " ".join(text for text, asked in told.items() if asked)


def read_gold(path: Path) -> list[GoldTree]:
    """Gold trees of a file: bracketed, or CoNLL-U, which its content tells.

    Raises:
        InputError: the file is missing or malformed, or has no tree.
    """
    from fairseq_struct.evaluation.predictions import is_treebank

    if is_treebank(path):
        from fairseq_struct.data.readers.dependency_treebank import read_treebank

        return [
            GoldTree(list(tree.words), "dependencies", list(tree.heads), [], list(tree.relations))
            for tree in read_treebank(path)
        ]
    from fairseq_struct.data.readers.bracket_trees import read_trees
    from fairseq_struct.pages.constituents.constituent_picture import spans_and_labels

    found = []
    for _, tree in read_trees(path):
        words, spans, labels = spans_and_labels(tree)
        found.append(GoldTree(words, "constituents", [], spans, labels if any(labels) else []))
    if not found:
        raise InputError(f"{path}: contains no tree")
    return found


def column(
    name: str, tool, sentences: Sequence[str], gold: Sequence[GoldTree] = (), faint: bool = False
) -> list[list[tuple]]:
    """A caption and a picture of each sentence.

    Args:
        name, tool: of a checkpoint.
        sentences: words separated by spaces.
        gold: trees of the same sentences; what differs from them is red.
        faint: whether arcs are as faint as they are unlikely.

    Raises:
        InputError: the model infers no trees, or others than the gold ones, or no probabilities.
    """
    check_kind(name, tool, gold)
    pictures = []
    for tree, right in zip(tool.trees(sentences), gold or [None] * len(sentences), strict=True):
        probabilities = _probabilities(tree) if faint else None
        if faint and probabilities is None:
            raise InputError(f"{name}: has no probabilities of arcs")
        pictures.append([(name, picture_of(tree, tool.tree_kind, right, probabilities))])
    return pictures


def check_kind(name: str, tool, gold: Sequence[GoldTree] = ()):
    """Check that a model infers trees, and of the kind of the gold ones, if there are any.

    Raises:
        InputError: it does not.
    """
    if tool.tree_kind is None:
        raise InputError(f"{name}: infers no trees")
    if gold and gold[0].kind != tool.tree_kind:
        raise InputError(f"{name}: infers {tool.tree_kind}; the gold trees are {gold[0].kind}")


def _probabilities(tree):
    """Those of the arcs of a tree; None without them."""
    from fairseq_struct.inference.results.of_tools import parse_of

    return getattr(parse_of(tree), "probabilities", None)


def picture_of(tree, kind: str, gold: GoldTree | None = None, probabilities=None):
    """A tree that a tool found.

    Args:
        tree: an ``Analysis`` with heads, or ``Constituents``.
        kind: the ``tree_kind`` of the tool.
        gold: the right tree, or None.
        probabilities: of its arcs, which are as faint as they are unlikely.
    """
    if kind == "constituents":
        return of_constituents(tree, None if gold is None else gold.spans)
    from fairseq_struct.pages.dependencies.dependency_picture import dependency_picture

    words, heads = tree.sentences[0], tree.heads[0]
    right = None if gold is None else gold.heads
    return dependency_picture(words, heads, probabilities=probabilities, gold=right, key=False)


def row_of(tree, kind: str, faint: bool = False, gold: GoldTree | None = None):
    """A row of a page with one tree, below its sentence.

    Args:
        tree, kind: as for :func:`picture_of`.
        faint: whether arcs are as faint as they are unlikely.
        gold: the right tree, or None.
    """
    from fairseq_struct.pages.drawing.rows import Row

    if kind == "constituents":
        return Row(" ".join(tree.words), [("", picture_of(tree, kind, gold))])
    label = f"{tree.label} · " if tree.label else ""
    caption = f"{label}depth {tree.depths[0]}"
    picture = picture_of(tree, kind, gold, _probabilities(tree) if faint else None)
    return Row(" ".join(tree.sentences[0]), [(caption, picture)])


def of_formulas(sentences: Sequence[str], kind: str) -> list[list[tuple]]:
    """The formulas' own trees.

    Raises:
        InputError: a sentence is no formula of this kind; with its line.
    """
    found = []
    for number, sentence in enumerate(sentences, 1):
        words = sentence.split()
        try:
            found.append([("gold", of_spans(words, constituents(words, kind)))])
        except ValueError as error:
            raise InputError(f"line {number}: no formula of the kind {kind}: {error}") from None
    return found


def of_treebank(gold: Sequence[GoldTree]) -> list[list[tuple]]:
    """Trees of a file."""
    from fairseq_struct.pages.constituents.constituent_picture import constituent_picture
    from fairseq_struct.pages.dependencies.dependency_picture import dependency_picture

    found = []
    for tree in gold:
        labels = tree.labels or None
        if tree.kind == "dependencies":
            picture = dependency_picture(tree.words, tree.heads, labels=labels)
        else:
            picture = constituent_picture(tree.words, tree.spans, labels=labels)
        found.append([("gold", picture)])
    return found


def of_constituents(tree, gold: Iterable[tuple[int, int]] | None = None):
    """Constituents that a model found, with labels, tags and distances if it has any.

    Args:
        tree: a ``Constituents``.
        gold: the right spans, or None.
    """
    if not tree.labelled:
        return of_spans(tree.words, tree.spans, tree.distances, gold)
    from fairseq_struct.pages.constituents.constituent_picture import (
        constituent_picture,
        spans_and_labels,
    )

    words, spans, labels = spans_and_labels(tree.tree())
    return constituent_picture(words, spans, labels=labels, gold=gold, key=False)


def of_spans(
    words: Sequence[str],
    spans: Sequence[tuple[int, int]],
    distances: Sequence[float] | None = None,
    gold: Iterable[tuple[int, int]] | None = None,
):
    """Constituents over words, without round brackets of formulas."""
    from fairseq_struct.pages.constituents.constituent_picture import constituent_picture
    from fairseq_struct.structure.spans import without_words

    kept = leaves(words)
    return constituent_picture(
        [words[place] for place in kept],
        without_words(spans, kept),
        distances=None if distances is None else [distances[place] for place in kept],
        gold=None if gold is None else without_words(gold, kept),
        key=False,
    )
