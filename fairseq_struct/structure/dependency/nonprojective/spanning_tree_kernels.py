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
def _begin(scores, n, single_root, work):
    """Every word is a node in a slot of its own."""
    source, target, roots = work.arcs[SOURCE], work.arcs[TARGET], work.arcs[ROOTS]
    score, nodes = work.score, work.nodes
    for k in range(2 * n + 1):
        nodes[PARENT, k], nodes[CHILD, k], nodes[SIBLING, k] = -1, -1, -1
        nodes[NODE, k], nodes[BEST, k], nodes[STATE, k] = k, 0, UNSEEN
    nodes[STATE, 0] = SETTLED
    for h in range(n + 1):
        work.active[h] = True
        score[0, h], roots[0, h] = -np.inf, 0
    for m in range(n):
        for h in range(n):
            score[m + 1, h + 1], roots[m + 1, h + 1] = scores[h, m], 0
            source[m + 1, h + 1], target[m + 1, h + 1] = h + 1, m
        score[m + 1, m + 1] = -np.inf
        score[m + 1, 0], roots[m + 1, 0] = scores[m, m], 1 if single_root else 0
        source[m + 1, 0], target[m + 1, 0] = 0, m


@inner
def _best_head(slot, size, work):
    score, roots = work.score[slot], work.arcs[ROOTS, slot]
    best, fewest, chosen = -np.inf, MANY, -1
    for h in range(size):
        if work.active[h] and h != slot and _better(score[h], roots[h], best, fewest):
            best, fewest, chosen = score[h], roots[h], h
    return chosen


@inner
def _contract(start, length, new, size, work):
    """Make path[start:length], a cycle, one node ``new``, in the slot of path[start]."""
    source, target, roots = work.arcs[SOURCE], work.arcs[TARGET], work.arcs[ROOTS]
    score, nodes, path, best = work.score, work.nodes, work.nodes[PATH], work.nodes[BEST]
    kept = path[start]
    for k in range(start, length):
        member = path[k]
        arc, node = best[member], nodes[NODE, member]
        nodes[PARENT, node], nodes[SIBLING, node] = new, nodes[CHILD, new]
        nodes[CHILD, new] = node
        nodes[IN_SOURCE, node], nodes[IN_TARGET, node] = source[member, arc], target[member, arc]
    for h in range(size):  # arcs into the new node, and out of it
        if not work.active[h] or (nodes[STATE, h] == ON_PATH and _on(path, start, length, h)):
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
        work.active[path[k]] = False
    nodes[NODE, kept] = new


@inner
def _on(path, start, stop, slot):
    for k in range(start, stop):
        if path[k] == slot:
            return True
    return False


@inner
def _follow(begin, used, size, work):
    """Follow best heads from a slot to settled ones, contracting cycles; nodes used, 0 if in vain.

    Args:
        used: nodes used before.
    """
    path, best, state = work.nodes[PATH], work.nodes[BEST], work.nodes[STATE]
    length, slot = 0, begin
    while True:
        if state[slot] == UNSEEN:
            path[length] = slot
            length += 1
            state[slot] = ON_PATH
        above = _best_head(slot, size, work)
        if above < 0:
            return 0
        best[slot] = above
        if state[above] == SETTLED:
            break
        if state[above] == ON_PATH:
            start = length - 1
            while path[start] != above:
                start -= 1
            _contract(start, length, used, size, work)
            used += 1
            length = start + 1
        slot = above
    for k in range(length):
        state[path[k]] = SETTLED
    return used


@inner
def _open(size, heads, work):
    """Open the nodes from above: each is entered by one arc, which settles one of its members."""
    nodes, depth = work.nodes, 0
    parent, sibling, stack = nodes[PARENT], nodes[SIBLING], nodes[STACK]
    in_source, in_target = nodes[IN_SOURCE], nodes[IN_TARGET]
    for slot in range(1, size):
        if work.active[slot]:
            arc, node = nodes[BEST, slot], nodes[NODE, slot]
            in_source[node] = work.arcs[SOURCE, slot, arc]
            in_target[node] = work.arcs[TARGET, slot, arc]
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
def arborescence(scores, n, single_root, heads, work):
    """Best tree of one sentence into ``heads`` (1-based, 0 the root); whether there is one.

    Args:
        work: a :class:`Contraction`.
    """
    size = used = n + 1
    _begin(scores, n, single_root, work)
    for begin in range(1, size):
        if work.active[begin] and work.nodes[STATE, begin] == UNSEEN:
            used = _follow(begin, used, size, work)
            if used == 0:
                return False
    _open(size, heads, work)
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
    work = Contraction(work[0], work[1], work[2], work[3])
    for b in range(first, last):
        n = lengths[b]
        found = arborescence(scores[b], n, single_root, heads[b], work)
        best[b] = tree_score(scores[b], n, heads[b]) if found else -np.inf
        if not found:
            for m in range(n):
                heads[b, m] = 0
