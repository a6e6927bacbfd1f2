"""Constituents as spans of words: binary trees from distances or from a stack, and trivial trees.

A tree over n words is the list of its constituents of two words or more as spans ``(start, end)``,
words counted from 0, ``end`` excluded. A span comes before the spans inside it. A binary tree has
n - 1 spans.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from fairseq_struct.structure.checks import whole_number

Span = tuple[int, int]
DISTANCE_SPLITS = ("word", "gap")


def tree_of_distances(distances: Sequence[float], split: str = "word") -> list[Span]:
    """The binary tree that splits at the largest distance first.

    d_i belongs to word i: how much the model forgets when it reads word i. ``split="word"`` splits
    into ((x_<i) (x_i (x_>i))) at the largest d_i (ON-LSTM paper, section 5.2). ``"gap"`` splits
    into ((x_<i) (x_>=i)) and ignores d_1 (algorithm 1 of Shen's thesis; its tau_{i-1} is d_i).
    Among equal distances, the first one wins.

    Args:
        distances: one for every word.
        split: ``word`` or ``gap``.

    Returns:
        The n - 1 spans.

    Raises:
        ValueError: an unknown split, no distances, or a distance that is NaN.
    """
    if split not in DISTANCE_SPLITS:
        raise ValueError(f"split must be one of {', '.join(DISTANCE_SPLITS)}, not {split!r}")
    values = [float(distance) for distance in distances]
    if not values:
        raise ValueError("a tree needs at least one word")
    if any(value != value for value in values):
        raise ValueError(f"distance {next(i for i, v in enumerate(values) if v != v)} is NaN")
    if split == "gap":
        def choose(start: int, end: int) -> int:
            return max(range(start + 1, end), key=values.__getitem__)

        return _split(len(values), choose)
    spans: list[Span] = []
    waiting = [(0, len(values))]
    while waiting:
        start, end = waiting.pop()
        if end - start < 2:
            continue
        spans.append((start, end))
        i = max(range(start, end), key=values.__getitem__)
        if i > start and i + 1 < end:
            spans.append((i, end))  # x_i with the words after it
        waiting += [(i + 1, end), (start, i)]
    return spans


def tree_of_stack(heads: Sequence[int]) -> list[Span]:
    """The binary tree that a shift-reduce parser builds with a given head of its stack.

    This is algorithm 3 of Shen's thesis: before word t is pushed, the two topmost subtrees are
    composed y_t - y_{t-1} + 1 times, or as often as there are two. It pops the later subtree first,
    so that a node is (e_2, e_1). The thesis stops with two subtrees, which are the children of the
    root.

    Args:
        heads: y_t of every word: the slot that holds the head of the stack after the reductions,
            the bottom slot having the largest number. y_1 is the bottom slot; that is
            not checked, nor is it in the thesis.

    Returns:
        The n - 1 spans.

    Raises:
        ValueError: there are no words.
    """
    if not len(heads):
        raise ValueError("there is no tree over no words")
    stack: list[Span] = [(0, 1)]
    spans: list[Span] = []

    def reduce():
        later, earlier = stack.pop(), stack.pop()
        spans.append((earlier[0], later[1]))
        stack.append(spans[-1])

    before = heads[0] - 1
    for word, head in enumerate(heads[1:], 1):
        for _ in range(min(head - before, len(stack) - 1)):
            reduce()
        stack.append((word, word + 1))
        before = head - 1
    while len(stack) > 1:
        reduce()
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def pointer_entropy(pointers: Tensor, lengths: Tensor) -> Tensor:
    """Mean entropy, in nats, of p_t over the slots that word t can reach, (sentences,).

    It is 0 if all decisions are sharp (Shen's thesis, section 6.1.1). The first word, which finds
    no slot, is left out; the value is NaN for a sentence of one word.

    Args:
        pointers: (T, sentences, slots) p_t, 0 for slots out of reach.
        lengths: (sentences,) words of each.
    """
    lengths = lengths.to(pointers.device)
    # The logarithm of 0 is kept finite, so that a slot without probability has a gradient.
    logarithm = pointers.clamp_min(torch.finfo(pointers.dtype).tiny).log()
    entropy = -(pointers * logarithm).sum(2)
    later = torch.arange(1, len(pointers), device=pointers.device)[:, None] < lengths
    return entropy[1:].masked_fill(~later, 0.0).sum(0) / (lengths - 1)


def right_branching(n: int) -> list[Span]:
    """(x_1 (x_2 (x_3 ..))) over n words."""
    return _split(n, lambda start, _: start + 1)


def left_branching(n: int) -> list[Span]:
    """(((x_1 x_2) x_3) ..) over n words."""
    return _split(n, lambda _, end: end - 1)


def balanced(n: int) -> list[Span]:
    """Tree over n words that splits every span in halves; of unequal ones the first is smaller."""
    return _split(n, lambda start, end: (start + end) // 2)


def random_tree(n: int, generator: torch.Generator | None = None) -> list[Span]:
    """Tree over n words that splits every span at a place drawn uniformly."""

    def choose(start: int, end: int) -> int:
        return int(torch.randint(start + 1, end, (), generator=generator, device="cpu"))

    return _split(n, choose)


def _split(n: int, choose: Callable[[int, int], int]) -> list[Span]:
    """Spans of the tree that cuts every span at ``choose(start, end)``."""
    n = whole_number("the number of words", n, 1)
    spans, waiting = [], [(0, n)]
    while waiting:
        start, end = waiting.pop()
        if end - start < 2:
            continue
        spans.append((start, end))
        cut = choose(start, end)
        waiting += [(cut, end), (start, cut)]
    return spans


def without_words(spans: Iterable[Span], kept: Sequence[int]) -> list[Span]:
    """Spans over some of the words only, such as those of a formula without its round brackets.

    Spans that become equal are one, and spans of fewer than two of these words are none.

    Args:
        spans: over all words.
        kept: places of the words that stay, in ascending order.
    """
    shrunk = ((bisect_left(kept, start), bisect_left(kept, end)) for start, end in spans)
    return list(dict.fromkeys(span for span in shrunk if span[1] - span[0] > 1))


def mean_depth(spans: Sequence[Span], n: int) -> float:
    """Mean, over words, of the number of constituents around a word (ON-LSTM paper, table 2).

    Args:
        spans: of the tree, the whole sentence among them.
        n: number of words.
    """
    return sum(end - start for start, end in spans) / n
