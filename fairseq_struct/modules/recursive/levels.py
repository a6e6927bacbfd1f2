"""Binary trees of a batch, computed bottom-up: all nodes of one height in one call."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.structure.kernels.untraced import untraced


class _Nodes(NamedTuple):
    """The constituents of a batch of trees, a parent before its children, from left to right.

    Args:
        sentence, start, end: (nodes,); words are counted through the whole batch.
        depth: (nodes,) nodes above it.
        parent: (nodes,) index of the node above it, -1 for roots.
        children: (nodes,) their number.
    """

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    depth: np.ndarray
    parent: np.ndarray
    children: np.ndarray


class TreeLevels:
    """A batch of binary trees in an order for computing every node from its two children.

    The height of a node is 0 for leaves, else one more than that of its higher child. A node with
    one child stands for the child.

    Args:
        trees: (sentences, m, 2 or more) of each constituent the first word and the end (excluded),
            padded with -1. Leaves are constituents of one word; other words are not in the tree.
        words: words of a sentence, padding included; words are counted through the batch.

    Attributes:
        leaves: (leaves,) index of each leaf's word among sentences * words.

    Raises:
        InputError: no sentence, a sentence without a tree, or with two; spans that cross or are not
            in the sentence; a node of more than two parts, or one of several words without parts.
    """

    @untraced
    def __init__(self, trees: Tensor, words: int):
        if not len(trees):
            raise InputError("the batch is empty; it needs 1 tree or more")
        nodes = _binary(_nodes_of(trees.cpu().numpy(), words))
        height = _heights(nodes)
        self._top = int(height.max())
        roots = nodes.parent < 0
        # The height at which a node is read; the roots are read at the end.
        ready = np.where(roots, self._top + 1, height[nodes.parent])
        made = np.lexsort((ready, height))
        place = np.empty_like(made)
        place[made] = np.arange(len(made))
        self.leaves = torch.from_numpy(nodes.start[made[height[made] == 0]]).to(trees.device)
        # Rows of each height, grouped by the height that reads them.
        groups, sizes = np.unique(np.stack([height, ready]), axis=1, return_counts=True)
        self._groups = [[] for _ in range(self._top + 1)]
        for (own, reader), size in zip(groups.T.tolist(), sizes.tolist(), strict=True):
            self._groups[own].append((reader, size))
        # Each height reads first all left children, in the order of their parents, then all right.
        right = ~roots & (np.arange(len(height)) != nodes.parent + 1)
        of = np.where(roots, nodes.sentence, place[nodes.parent])
        given, read = np.lexsort((place, ready)), np.lexsort((of, right, ready))
        where = np.empty_like(given)
        where[given] = np.arange(len(given))
        counts = np.bincount(ready)[1:]
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        order = torch.from_numpy(where[read] - starts).to(trees.device)
        self._orders = order.split(counts.tolist())

    def fold(self, leaves: Tensor, compose: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """States of the roots, (sentences, size).

        Args:
            leaves: (leaves, size) states of :attr:`leaves`.
            compose: function of the states (nodes, size) of left and of right children.
        """
        waiting = [[] for _ in range(self._top + 2)]
        states = leaves
        for height, groups in enumerate(self._groups):
            # Every state is split off once and read once, so time is linear in the nodes.
            parts = states.split([size for _, size in groups])
            for (reader, _), part in zip(groups, parts, strict=True):
                waiting[reader].append(part)
            rows = torch.cat(waiting[height + 1])[self._orders[height]]
            waiting[height + 1].clear()
            states = compose(*rows.chunk(2)) if height < self._top else rows
        return states


def _nodes_of(trees: np.ndarray, words: int) -> _Nodes:
    """The nodes of all trees."""
    given = trees[..., 0] >= 0
    sentence = given.nonzero()[0]
    start, end = trees[given][:, 0], trees[given][:, 1]
    if (start >= end).any() or (end > words).any():
        raise InputError("a gold tree has a constituent that is not in its sentence")
    nodes = _nested(sentence, start + sentence * words, end + sentence * words)
    roots = np.bincount(nodes.sentence[nodes.depth == 0], minlength=len(trees))
    if (roots != 1).any():
        raise InputError(f"a sentence has {roots[roots != 1][0]} gold trees; it needs one")
    return nodes


def _nested(sentence: np.ndarray, start: np.ndarray, end: np.ndarray) -> _Nodes:
    """Find the parents of spans; of equal spans, the first is the outer one."""
    order = np.lexsort((-end, start))  # stable
    sentence, start, end = sentence[order], start[order], end[order]
    own = np.arange(len(order))
    # Spans that begin before it, without those that end before it.
    depth = own - np.searchsorted(np.sort(end), start, side="right")
    by_depth = np.argsort(depth, kind="stable")
    keys = depth * len(own) + own
    # The parent is the last node before it that is one level higher.
    before = np.searchsorted(keys[by_depth], keys - len(own)) - 1
    parent = np.where(depth > 0, by_depth[before], -1)
    inner = parent >= 0
    if (end[inner] > end[parent[inner]]).any():
        raise InputError("a gold tree has constituents that cross")
    children = np.bincount(parent[inner], minlength=len(own))
    return _Nodes(sentence, start, end, depth, parent, children)


def _binary(nodes: _Nodes) -> _Nodes:
    """The same trees without nodes of one child."""
    most = nodes.children.max()
    if most > 2:
        raise InputError(f"a gold tree has a constituent of {most} parts; it must be binary")
    if (nodes.end - nodes.start)[nodes.children == 0].max() > 1:
        raise InputError("a gold tree has a constituent of several words without parts")
    kept = nodes.children != 1
    return nodes if kept.all() else _nested(*(part[kept] for part in nodes[:3]))


def _heights(nodes: _Nodes) -> np.ndarray:
    """Height of each node above its lowest leaf."""
    height = np.zeros_like(nodes.depth)
    levels = np.split(np.argsort(nodes.depth, kind="stable"), np.bincount(nodes.depth).cumsum())
    for level in levels[-2:0:-1]:
        np.maximum.at(height, nodes.parent[level], height[level] + 1)
    return height
