"""Bracketed constituency trees: reading and writing them, their words and their spans.

Trees are ``nltk.Tree``. Spans are (start, end) of words counted from 0, the end excluded, as in
:mod:`fairseq_struct.structure.spans`. Trees of long sentences are deeper than Python's recursion
limit, and nltk's own functions fail on them. So the functions here use loops, not recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from nltk import Tree

from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import without_spaces
from fairseq_struct.files.text_files import read_lines

Span = tuple[int, int]
_TOKEN = re.compile(r"\(|\)|[^\s()]+")
# Written in place of a missing label, so that readers recognise the file as labelled.
NO_LABEL = "X"
# Joins the labels of a constituent and its only child, from the outside in: S+VP.
JOINED = "+"


def read_trees(path: Path, labels: bool | None = None) -> list[tuple[int, Tree]]:
    """Read the trees of a file, each with the number of its first line.

    A tree may span several lines, and a line may hold several trees. ``( (S ..))`` of the Penn
    Treebank is read as ``(S ..)``. Trees without labels are also read: ``((a b) c)``.

    Args:
        path: the file.
        labels: whether constituents have labels. None: detect it. The file has no labels if a
            bracket opens directly with another. So ``(a (b c))`` alone is a tree with the label a.

    Raises:
        InputError: the file is missing, not UTF-8, or malformed, with the line.
    """
    stack: list[list] = []
    trees: list[tuple[int, list]] = []
    labelled, begun = True, 0
    for number, line in enumerate(read_lines(path), 1):
        for token in _TOKEN.findall(line):
            if token == "(":
                begun = begun if stack else number
                stack.append([])
            elif not stack:
                raise InputError(f"{path}:{number}: {token!r} is outside all trees")
            elif token == ")":
                node = stack.pop()
                if not node:
                    raise InputError(f"{path}:{number}: empty brackets")
                if stack:
                    stack[-1].append(node)
                    labelled &= isinstance(node[0], str)
                else:
                    trees.append((begun, node))
            else:
                stack[-1].append(token)
    if stack:
        raise InputError(f"{path}:{begun}: this tree is not closed")
    labelled &= all(isinstance(tree[0], str) or len(tree) == 1 for _, tree in trees)
    labelled = labelled if labels is None else labels
    return [(number, _tree(node, labelled)) for number, node in trees]


def _tree(node: list, labelled: bool) -> Tree:
    """Make a tree of nested lists."""
    made: dict[int, Tree] = {}
    waiting = [(node, False)]
    while waiting:
        current, ready = waiting.pop()
        if not ready:
            waiting.append((current, True))
            waiting += [(child, False) for child in current if isinstance(child, list)]
            continue
        label, children = "", current
        if labelled and isinstance(current[0], str) and len(current) > 1:
            label, *children = current
        made[id(current)] = Tree(
            label, [made[id(child)] if isinstance(child, list) else child for child in children]
        )
    tree = made[id(node)]
    while not tree.label() and len(tree) == 1 and isinstance(tree[0], Tree):
        tree = tree[0]
    return tree


def prune(tree: Tree, keep: Callable[[str, str], bool]) -> Tree | None:
    """Remove words from a tree; None if no word is left.

    Constituents without words are removed. Constituents with a single child stay.

    Args:
        tree: a tree with a part of speech above every word.
        keep: whether to keep a word, called with its part of speech and its form.
    """
    made: dict[int, Tree | None] = {}
    waiting = [(tree, False)]
    while waiting:
        node, ready = waiting.pop()
        if len(node) == 1 and isinstance(node[0], str):
            made[id(node)] = node if keep(node.label(), node[0]) else None
        elif not ready:
            waiting += [(node, True), *((child, False) for child in reversed(node))]
        else:
            children = [made[id(child)] for child in node if made[id(child)] is not None]
            made[id(node)] = Tree(node.label(), children) if children else None
    return made[id(tree)]


def spans_of(tree: Tree) -> list[tuple[str, Span]]:
    """Labels and spans of the constituents of two or more words, outer ones first."""
    found: list[tuple[str, Span]] = []
    at = 0
    waiting: list[Tree | str | tuple[int, str, int]] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            at += 1
        elif isinstance(node, Tree):
            waiting += [(len(found), node.label(), at), *reversed(node)]
            found.append(("", (at, at)))
        else:
            place, label, start = node
            found[place] = (label, (start, at))
    return [(label, span) for label, span in found if span[1] - span[0] > 1]


def leaves_of(tree: Tree) -> list[str]:
    """The words of a tree of any depth, as ``tree.leaves()`` returns them."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
        else:
            waiting += reversed(node)
    return found


def nodes_of(tree: Tree) -> Iterator[Tree]:
    """Yield a tree of any depth and all its subtrees, as ``tree.subtrees()`` does."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += [child for child in reversed(node) if isinstance(child, Tree)]
        yield node


def has_label(tree: Tree, label: str) -> bool:
    """Whether a node of the tree has this label."""
    return any(node.label() == label for node in nodes_of(tree))


def tree_of(
    words: Sequence[str], spans: Sequence[Span], labels: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
) -> Tree:  # fmt: skip
    """Make a tree from spans that do not cross; joined labels become nested constituents.

    Args:
        words: the words of the sentence.
        spans: spans of its constituents; the span of the whole sentence is added if missing.
        labels: of the spans; None for a tree without labels.
        tags: of the words; None for words without tags. A single word with a tag is a whole tree.

    Raises:
        ValueError: two spans cross.
    """
    leaves = words
    if tags is not None:
        leaves = [Tree(tag, [word]) for tag, word in zip(tags, words, strict=True)]
        if len(leaves) == 1:
            return taken_apart(leaves[0])
    names = {} if labels is None else dict(zip(spans, labels, strict=True))
    return taken_apart(_nested(leaves, spans, names))


def _nested(leaves: Sequence, spans: Sequence[Span], names: Mapping[Span, str]) -> Tree:
    root = (0, len(leaves))
    ordered = sorted({root, *(span for span in spans if span[1] - span[0] > 1)},
                     key=lambda span: (span[0], -span[1]))  # fmt: skip
    stack: list[tuple[Span, Tree]] = []
    at = 0
    top = Tree(names.get(root, ""), [])

    def close_until(start: int):
        nonlocal at
        while stack and stack[-1][0][1] <= start:
            span, tree = stack.pop()
            tree.extend(leaves[at : span[1]])
            at = max(at, span[1])

    for span in ordered:
        close_until(span[0])
        tree = top if span == root else Tree(names.get(span, ""), [])
        if stack:
            (_, end), parent = stack[-1]
            if span[1] > end:
                raise ValueError(f"spans {stack[-1][0]} and {span} cross")
            parent.extend(leaves[at : span[0]])
            parent.append(tree)
        at = span[0]
        stack.append((span, tree))
    close_until(len(leaves))
    return top


def taken_apart(tree: Tree) -> Tree:
    """A copy with nested constituents instead of joined labels: (S (VP ..)) for (S+VP ..)."""
    top = Tree("", [])
    waiting: list[tuple[Tree | str, Tree]] = [(tree, top)]
    while waiting:
        node, parent = waiting.pop()
        if not isinstance(node, Tree):
            parent.append(node)
            continue
        labels = node.label().split(JOINED)
        for label in labels if all(labels) else [node.label()]:
            parent.append(Tree(label, []))
            parent = parent[-1]
        waiting += [(child, parent) for child in reversed(node)]
    return top[0]


def _without_brackets(symbol: str) -> str:
    return symbol.replace("(", "-LRB-").replace(")", "-RRB-")


def to_line(tree: Tree | str) -> str:
    """Write a tree in one line, ``(NP (DT the) (NN cat))``; a missing label becomes X.

    Brackets within words and labels become -LRB- and -RRB-, and spaces within words ``_``.
    """
    parts: list[str] = []
    waiting: list[Tree | str | None] = [tree]
    while waiting:
        node = waiting.pop()
        if node is None:
            parts[-1] += ")"
        elif isinstance(node, str):
            parts.append(_without_brackets(without_spaces(node)))
        else:
            parts.append(f"({_without_brackets(node.label()) or NO_LABEL}")
            waiting += [None, *reversed(node)]
    return " ".join(parts)
