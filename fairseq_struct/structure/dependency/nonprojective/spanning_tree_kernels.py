"""Compiled search for the best of all dependency trees, the maximum spanning arborescence.

By the algorithm of Chu and Liu (1965) and Edmonds (1967) on a dense graph in O(n^2): follow best
heads from word to word, contract every cycle that closes into one node, and at last open the
contracted nodes where the tree enters them.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.compiled import Space, compiled, inner

MANY = 1 << 40
SOURCE, TARGET, ROOTS = 0, 1, 2
PARENT, CHILD, SIBLING, IN_SOURCE, IN_TARGET, STACK, NODE, BEST, PATH, STATE = range(10)
UNSEEN, ON_PATH, SETTLED = 0, 1, 2


class Contraction(NamedTuple):
    """What a best tree is found in.

    Slot 0 is the root, slot i + 1 starts as word i; a contracted node takes the slot of one of
    its members. Nodes, unlike slots, are never used twice: 0 .. n, then contracted ones.

    Args:
        score: (n + 1, n + 1), score[m, h] of slot h as head of slot m.
        arcs: (3, n + 1, n + 1) integers, for each such arc: SOURCE, the word at its upper end,
            TARGET, the word at its lower end, and for how many arcs from the root it counts, ROOTS.
        nodes: (10, 2 n + 1) integers. By node: PARENT, the contracted node that it is part of,
            CHILD, one of its own parts, SIBLING, another part of the same, the ends of the arc that
            enters it, IN_SOURCE and IN_TARGET; STACK is one of nodes. By slot: its NODE, its best
            head, BEST, the PATH, and its STATE: not seen yet, on the path or settled.
        active: (n + 1,) whether a slot is used.
    """

    score: np.ndarray
    arcs: np.ndarray
    nodes: np.ndarray
    active: np.ndarray


def contraction_space(n: int) -> Contraction:
    """The room of a :class:`Contraction`."""
    square = n + 1, n + 1
    return Contraction(
        Space(square), Space((3, *square), np.int64), Space((10, 2 * n + 1), np.int64),
        Space((n + 1,), np.bool_),
    )  # fmt: skip


@inner
def _better(score, roots, best, fewest):
    """Whether an arc beats another: by fewer arcs from the root, where they count, then score.

    A penalty on the root's arcs would do the same, but cost the scores their last digits.
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
    """Make path[start:length], a cycle, one node ``new``, in the slot of path[start]."""
    path, best = nodes[PATH], nodes[BEST]
    kept = path[start]
    for k in range(start, length):
        member = path[k]
        arc, node = best[member], nodes[NODE, member]
        nodes[PARENT, node], nodes[SIBLING, node] = new, nodes[CHILD, new]
        nodes[CHILD, new] = node
        nodes[IN_SOURCE, node], nodes[IN_TARGET, node] = source[member, arc], target[member, arc]
    for h in range(size):  # arcs into the new node, and out of it
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
    """Open the nodes from above: each is entered by one arc, which settles one of its members."""
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
    """Best tree of one sentence into ``heads`` (1-based, 0 the root); whether there is one.

    ``score`` and so on are the fields of a :class:`Contraction`.
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
    """Row of the arc into word m: its head's, or for the root its own."""
    return heads[m] - 1 if heads[m] > 0 else m


@inner
def tree_score(scores, n, heads):
    total = 0.0
    for m in range(n):
        total += scores[row_of(heads, m), m]
    return total


@compiled
def best_trees(first, last, scores, lengths, single_root, best, heads, work):
    """``best`` (batch,) scores, -inf where there is no tree, and ``heads`` (batch, n).

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
