"""Transformation lists: the steps in which a constituency tree is built over its words.

Verma (2022, "Towards compositional learning for natural language understanding", section 3.1.2): a
tree is built from right to left and bottom up. Each step joins a span of the current sequence,
which earlier steps made shorter, into one symbol of a category. Every word first becomes its part
of speech by a step of one word. A phrase is formed when its leftmost child is ready. So all words
left of a step are untouched.

Trees are normalised first (:func:`normalised_tree`). The thesis does not say how. It keeps 3,794 of
the 3,914 sentences of NLTK's sample of the Penn Treebank, which have 53 tags, and its tables
TC4.1 and TC4.2 together say that 53 to 59 % of the steps take a single word. Here, the sample has

=============  =============  =====  =====================================  ====================
punctuation    one child      tags   steps, without sentences of one word   of a single symbol
=============  =============  =====  =====================================  ====================
kept           merged         71     153,250                                61.4 %
kept           step of own    71     167,543                                64.7 %
removed        merged         64     141,954                                58.5 %
removed        step of own    64     156,539                                62.4 %
=============  =============  =====  =====================================  ====================

The first row is the default: text is kept whole, and a phrase with one child, which changes no
bracket, takes no step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import JOINED, NO_LABEL, leaves_of, prune
from fairseq_struct.data.readers.penn_treebank import mrg_trees, require_tags, without_functions
from fairseq_struct.errors import InputError

NULL_ELEMENT = "-NONE-"
# Currency symbols ($, #) are words here.
PUNCTUATION = frozenset("`` '' , . : -LRB- -RRB-".split())
UNARY = ("merge", "own")
NOT_JOINED = "&"


class Step(NamedTuple):
    """A step: a span of the current sequence, from 0, the end excluded, and its category."""

    start: int
    end: int
    category: str


class ListedTree(NamedTuple):
    """A normalised tree, its words, and the file and line where it stands."""

    place: str
    words: list[str]
    tree: Tree


@dataclass(frozen=True)
class ListOptions:
    """How trees are normalised and selected.

    Attributes:
        punctuation: keep it.
        unary: ``merge`` makes one node of a phrase and its only child, with both categories joined,
            the outer one first, as in ``S+VP``; ``own`` keeps both, so that the phrase is formed by
            a step of its own over one symbol.
        shortest, longest: number of words of the sentences to keep, punctuation counted if it is
            kept; None for no limit.
    """

    punctuation: bool = True
    unary: str = "merge"
    shortest: int = 1
    longest: int | None = None

    def __post_init__(self):
        """Refuse values that mean nothing.

        Raises:
            InputError: which of them, and why.
        """
        if self.unary not in UNARY:
            raise InputError(f"unary {self.unary!r}: must be one of {', '.join(UNARY)}")
        if self.shortest < 1:
            raise InputError(f"sentences of {self.shortest} words: must be 1 or more")
        if self.longest is not None and self.longest < self.shortest:
            raise InputError(f"no sentence has {self.shortest} words or more, but {self.longest} "
                             "at most")  # fmt: skip


def read_lists(path: str | Path, options: ListOptions = ListOptions()) -> list[ListedTree]:
    """Read and normalise trees, and keep those of the wanted lengths.

    Sentences of which nothing but punctuation would be left are left out, too.

    Args:
        path: a .mrg file, or a folder; all .mrg files below a folder are read, sorted by path.
        options: of the trees.

    Raises:
        InputError: there is no .mrg file; a tree is malformed, or has no words but null elements,
            with file and line; or no sentence is left.
    """
    found = []
    for place, tree in mrg_trees(Path(path)):
        found += listed(normalised_tree(tree, options, place), options, place)
    if not found:
        raise InputError(f"{path}: no sentence is left")
    return found


def listed(tree: Tree | None, options: ListOptions, place: str) -> Iterator[ListedTree]:
    """Yield a normalised tree if there is one, and it has a wanted number of words."""
    if tree is not None:
        words = leaves_of(tree)
        if options.shortest <= len(words) <= (options.longest or len(words)):
            yield ListedTree(place, words, tree)


def normalised_tree(tree: Tree, options: ListOptions, place: str) -> Tree | None:
    """Normalise a tree; None if nothing is left of it without punctuation.

    Null elements are removed, phrases lose their functions (``NP-SBJ`` becomes ``NP``), and one
    without a name is called X. A ``+`` within a category becomes ``&``, as ``+`` joins categories.

    Args:
        tree: a tree with a part of speech above every word; unchanged.
        options: of the trees.
        place: file and line, for errors.

    Raises:
        InputError: a word without a part of speech, or a tree without words.
    """
    words = without_null_elements(tree, place)
    if not options.punctuation:
        words = prune(words, lambda tag, _: tag not in PUNCTUATION)
    return None if words is None else _relabelled(words, options.unary == "merge")


def without_null_elements(tree: Tree, place: str) -> Tree:
    """A tree without its null elements, and without phrases of nothing else.

    Args:
        tree: a tree with a part of speech above every word; unchanged.
        place: file and line, for errors.

    Raises:
        InputError: a word without a part of speech, or a tree without words.
    """
    require_tags(tree, place)
    words = prune(tree, lambda tag, _: tag != NULL_ELEMENT)
    if words is None:
        raise InputError(f"{place}: a tree without words")
    return words


def _relabelled(tree: Tree, merge: bool) -> Tree:
    """A copy with the final categories; with ``merge``, only children join their parents."""
    top = Tree("", [])
    waiting = [(tree, top)]
    while waiting:
        node, parent = waiting.pop()
        labels = [_category(node)]
        while merge and len(node) == 1 and isinstance(node[0], Tree):
            node = node[0]
            labels.append(_category(node))
        made = Tree(JOINED.join(labels), [])
        parent.append(made)
        if isinstance(node[0], str):
            made.append(node[0])
        else:
            waiting += [(child, made) for child in reversed(node)]
    return top[0]


def _category(node: Tree) -> str:
    """A part of speech as it is, a phrase without its functions."""
    label = node.label()
    if isinstance(node[0], Tree):
        label = without_functions(label) or NO_LABEL
    return label.replace(JOINED, NOT_JOINED)


def steps_of(tree: Tree) -> list[Step]:
    """The steps that build a tree, right to left and bottom up.

    Args:
        tree: a tree of any depth with a part of speech above every word.
    """
    steps: list[Step] = []
    left = len(leaves_of(tree))  # untouched words
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        node, ready = waiting.pop()
        if isinstance(node[0], str):
            left -= 1
            steps.append(Step(left, left + 1, node.label()))
        elif ready:
            steps.append(Step(left, left + len(node), node.label()))
        else:
            waiting += [(node, True), *((child, False) for child in node)]
    return steps


def word_spans(steps: Sequence[Sequence], length: int) -> list[tuple[int, int]]:
    """The spans of steps over the words of the sentence instead of the current sequence.

    Args:
        steps: start and end of each over the current sequence, and whatever follows them.
        length: number of words.

    Returns:
        start and end of each over the words.

    Raises:
        ValueError: the steps build no tree over all words.
    """
    ends: list[int] = []  # of the symbols that are done, the leftmost one last
    spans = []
    for start, joined in _actions(steps, length):
        end = start + 1
        for _ in range(joined):
            end = ends.pop()
        ends.append(end)
        spans.append((start, end))
    return spans


def _actions(steps: Sequence[Sequence], length: int) -> Iterator[tuple[int, int]]:
    """The place of each step's new symbol, and how many symbols it joins: 0 to tag a word."""
    left, done = length, 0
    for start, end, *_ in steps:
        if start == left - 1 and end == left:
            left, done = start, done + 1
            yield start, 0
        elif start == left < end <= left + done:
            done -= end - start - 1
            yield start, end - start
        else:
            raise ValueError(f"step ({start}, {end}) after {left} words and {done} symbols")
    if left or done != 1:
        raise ValueError(f"{left} words and {done} symbols are left, not a tree")


def tag_of(category: str, single: bool) -> str:
    """The one tag under which a step is scored, as joined categories have several.

    Args:
        category: of the step.
        single: whether it takes a single symbol. Its tag is then the part of speech, which is the
            last one; else that of the outermost phrase.
    """
    return category.split(JOINED)[-1 if single else 0]
