"""Compiled search for the best of all dependency trees, the maximum spanning arborescence.

The algorithm of Chu and Liu (1965) and Edmonds (1967) on a dense graph in O(n^2): follow best
heads from word to word, contract every cycle into one node, and at the end open the contracted
nodes where the tree enters them.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.kernels.compiled import Space, compiled, inner

MANY = 1 << 40
SOURCE, TARGET, ROOTS = 0, 1, 2
PARENT, CHILD, SIBLING, IN_SOURCE, IN_TARGET, STACK, NODE, BEST, PATH, STATE = range(10)
UNSEEN, ON_PATH, SETTLED = 0, 1, 2


class Contraction(NamedTuple):
    """Work arrays of a search for the best tree.

    Slot 0 is the root. Slot i + 1 starts as word i. A contracted node takes the slot of one of its
    members. Numbers of nodes, unlike slots, are never reused: 0 .. n, then contracted nodes.

    Args:
        score: (n + 1, n + 1), score[m, h] of slot h as head of slot m.
        arcs: (3, n + 1, n + 1) integers, for each such arc: SOURCE, the word at its upper end,
            TARGET, the word at its lower end, and ROOTS, the number of arcs from the root that it
            counts for.
        nodes: (10, 2 n + 1) integers. By node: PARENT, the contracted node that contains it,
            CHILD, one of its parts, SIBLING, another part of its parent, and IN_SOURCE and
            IN_TARGET, the ends of the arc that enters it; STACK is a stack of nodes. By slot: its
            NODE, BEST, its best head, and STATE: unseen, on the path or settled. PATH lists slots.
        active: (n + 1,) whether a slot is used.
    """

    score: np.ndarray
    arcs: np.ndarray
    nodes: np.ndarray
    active: np.ndarray


def contraction_space(n: int) -> Contraction:
    """Sizes of the work arrays of a :class:`Contraction`."""
    square = n + 1, n + 1
    return Contraction(
        Space(square), Space((3, *square), np.int64), Space((10, 2 * n + 1), np.int64),
        Space((n + 1,), np.bool_),
    )  # fmt: skip


@inner
def _better(score, roots, best, fewest):
    """Whether an arc beats another: by fewer arcs from the root, if they count, then by score.

    A penalty on the root's arcs would do the same, but lose the scores' last digits.
    """
    return score > -np.inf and (roots < fewest or (roots == fewest and score > best))


@inner
def _best_head(score, roots, active, slot, size):
    best, fewest, chosen = -np.inf, MANY, -1
    for h in range(size):
        if active[h] and h != slot and _better(score[slot, h], roots[slot, h], best, fewest):
            best, fewest, chosen = score[slot, h], roots[slot, h], h
    return chosen


@inner
def _contract(start, length, new, size, score, source, target, roots, nodes, active):
    """Contract the cycle path[start:length] to one node ``new``, in the slot of path[start]."""
    path, best = nodes[PATH], nodes[BEST]
    kept = path[start]
    for k in range(start, length):
        member = path[k]
        arc, node = best[member], nodes[NODE, member]
        nodes[PARENT, node], nodes[SIBLING, node] = new, nodes[CHILD, new]
        nodes[CHILD, new] = node
        nodes[IN_SOURCE, node], nodes[IN_TARGET, node] = source[member, arc], target[member, arc]
    for h in range(size):  # arcs into and out of the new node
        if not active[h] or (nodes[STATE, h] == ON_PATH and _on(path, start, length, h)):
            continue
        into, at, into_roots = -np.inf, kept, MANY
        out, by, out_roots = -np.inf, kept, MANY
        for k in range(start, length):
            member = path[k]
            arc = best[member]
            value = score[member, h] - score[member, arc]
            count = roots[member, h] - roots[member, arc]
            if _better(value, count, into, into_roots):
                into, at, into_roots = value, member, count
            if _better(score[h, member], roots[h, member], out, out_roots):
                out, by, out_roots = score[h, member], member, roots[h, member]
        into_source, into_target = source[at, h], target[at, h]
        out_source, out_target = source[h, by], target[h, by]
        score[kept, h], score[h, kept] = into, out
        roots[kept, h], roots[h, kept] = into_roots, out_roots
        source[kept, h], target[kept, h] = into_source, into_target
        source[h, kept], target[h, kept] = out_source, out_target
    for k in range(start + 1, length):
        active[path[k]] = False
    nodes[NODE, kept] = new


@inner
def _on(path, start, stop, slot):
    for k in range(start, stop):
        if path[k] == slot:
            return True
    return False


@inner
def _open(size, heads, source, target, nodes, active):
    """Open nodes top-down: one arc enters each node and fixes the head of one of its members."""
    parent, sibling, stack = nodes[PARENT], nodes[SIBLING], nodes[STACK]
    in_source, in_target = nodes[IN_SOURCE], nodes[IN_TARGET]
    depth = 0
    for slot in range(1, size):
        if active[slot]:
            arc, node = nodes[BEST, slot], nodes[NODE, slot]
            in_source[node], in_target[node] = source[slot, arc], target[slot, arc]
            stack[depth] = node
            depth += 1
    while depth > 0:
        depth -= 1
        top = stack[depth]
        below = nodes[CHILD, top]
        if below < 0:
            heads[top - 1] = in_source[top]
            continue
        entered = in_target[top] + 1
        while parent[entered] != top:
            entered = parent[entered]
        in_source[entered], in_target[entered] = in_source[top], in_target[top]
        while below >= 0:
            stack[depth] = below
            depth += 1
            below = sibling[below]


@inner
def arborescence(scores, n, single_root, heads, score, arcs, nodes, active):
    """Write the best tree of a sentence to ``heads`` (1-based, 0 the root); return if one exists.

    ``score``, ``arcs``, ``nodes`` and ``active`` are the fields of a :class:`Contraction`.
    """
    size = used = n + 1
    source, target, roots = arcs[SOURCE], arcs[TARGET], arcs[ROOTS]
    best, path, state = nodes[BEST], nodes[PATH], nodes[STATE]
    for k in range(2 * n + 1):
        nodes[PARENT, k], nodes[CHILD, k], nodes[SIBLING, k] = -1, -1, -1
        nodes[NODE, k], best[k], state[k] = k, 0, UNSEEN
    state[0] = SETTLED
    for h in range(size):
        active[h] = True
        score[0, h], roots[0, h] = -np.inf, 0
    for m in range(n):
        for h in range(n):
            score[m + 1, h + 1], roots[m + 1, h + 1] = scores[h, m], 0
            source[m + 1, h + 1], target[m + 1, h + 1] = h + 1, m
        score[m + 1, m + 1] = -np.inf
        score[m + 1, 0], roots[m + 1, 0] = scores[m, m], 1 if single_root else 0
        source[m + 1, 0], target[m + 1, 0] = 0, m
    for begin in range(1, size):
        length, slot = 0, begin
        while active[begin] and state[slot] != SETTLED:
            if state[slot] == UNSEEN:
                path[length] = slot
                length += 1
                state[slot] = ON_PATH
            above = _best_head(score, roots, active, slot, size)
            if above < 0:
                return False
            best[slot] = above
            if state[above] == ON_PATH:
                start = length - 1
                while path[start] != above:
                    start -= 1
                _contract(start, length, used, size, score, source, target, roots, nodes, active)
                used += 1
                length = start + 1
            slot = above
        for k in range(length):
            state[path[k]] = SETTLED
    _open(size, heads, source, target, nodes, active)
    modifiers = 0
    for m in range(n):
        modifiers += heads[m] == 0
    return modifiers == 1 or not single_root


@inner
def row_of(heads, m):
    """Row of the arc into word m: its head's row, or for the root its own row."""
    return heads[m] - 1 if heads[m] > 0 else m


@inner
def tree_score(scores, n, heads):
    """Sum of the scores of the arcs of the tree ``heads``, 0 the root, of n words."""
    total = 0.0
    for m in range(n):
        total += scores[row_of(heads, m), m]
    return total


@compiled
def best_trees(first, last, scores, lengths, single_root, best, heads, work):
    """Write ``best`` (batch,) scores, -inf without a tree, and ``heads`` (batch, n).

    Args:
        work: fields of a :class:`Contraction`.
    """
    score, arcs, nodes, active = work
    for b in range(first, last):
        n = lengths[b]
        found = arborescence(scores[b], n, single_root, heads[b], score, arcs, nodes, active)
        best[b] = tree_score(scores[b], n, heads[b]) if found else -np.inf
        if not found:
            for m in range(n):
                heads[b, m] = 0
