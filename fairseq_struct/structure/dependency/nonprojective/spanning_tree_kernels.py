"""Compiled search among all dependency trees: the best one, and exact samples.

The best tree is the maximum spanning arborescence, by the algorithm of Chu and Liu (1965) and
Edmonds (1967) on a dense graph in O(n^2): follow best heads from word to word, contract every
cycle that closes into one node, and at last open the contracted nodes where the tree enters
them. A sample is drawn by Wilson's algorithm (1996), by loop-erased random walks.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled, inner
from fairseq_struct.structure.random_kernels import uniform

MANY = 1 << 40


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
def arborescence(scores, n, single_root, heads, score, arcs, nodes, active):
    """Best tree of one sentence into ``heads`` (1-based, 0 the root); whether there is one.

    Slot 0 is the root, slot i + 1 starts as word i; a contracted node takes the slot of one of
    its members. Nodes, unlike slots, are never used twice: 0 .. n, then contracted ones.

    Args:
        score: (n + 1, n + 1) to work in: score[m, h] of slot h as head of slot m.
        arcs: (3, n + 1, n + 1) integers to work in, for each such arc: the word at its upper end,
            the word at its lower end, and how many arcs from the root it counts for.
        nodes: (10, 2 n + 1) integers to work in.
        active: (n + 1,) to work in: whether a slot is used.
    """
    size = n + 1
    source, target, roots = arcs[0], arcs[1], arcs[2]
    parent, child, sibling, in_source, in_target, stack = (
        nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5],
    )  # fmt: skip
    # By slot: its node, its best head, the path, and whether it was not seen yet (0), is on the
    # path (1) or settled (2).
    node, best, path, state = nodes[6], nodes[7], nodes[8], nodes[9]
    for k in range(2 * n + 1):
        parent[k], child[k], sibling[k] = -1, -1, -1
        node[k], best[k], state[k] = k, 0, 0
    for k in range(size):
        active[k] = True
    state[0] = 2
    for h in range(size):
        score[0, h], roots[0, h] = -np.inf, 0
    for m in range(n):
        for h in range(n):
            score[m + 1, h + 1], roots[m + 1, h + 1] = scores[h, m], 0
            source[m + 1, h + 1], target[m + 1, h + 1] = h + 1, m
        score[m + 1, m + 1] = -np.inf
        score[m + 1, 0], roots[m + 1, 0] = scores[m, m], 1 if single_root else 0
        source[m + 1, 0], target[m + 1, 0] = 0, m
    used = size
    for begin in range(1, size):
        if not active[begin] or state[begin] != 0:
            continue
        length, slot = 0, begin
        while True:
            if state[slot] == 0:
                path[length] = slot
                length += 1
                state[slot] = 1
            best[slot] = _best_head(score, roots, active, slot, size)
            if best[slot] < 0:
                return False
            above = best[slot]
            if state[above] == 2:
                break
            if state[above] == 0:
                slot = above
                continue
            # A cycle: path[start:length], path[start] being ``above``, which keeps its slot.
            start = length - 1
            while path[start] != above:
                start -= 1
            new, kept = used, above
            used += 1
            for k in range(start, length):
                member = path[k]
                arc = best[member]
                parent[node[member]] = new
                sibling[node[member]] = child[new]
                child[new] = node[member]
                in_source[node[member]] = source[member, arc]
                in_target[node[member]] = target[member, arc]
            for h in range(size):  # arcs into the new node, and out of it
                if not active[h] or (state[h] == 1 and _on(path, start, length, h)):
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
            node[kept] = new
            length = start + 1
            slot = kept
        for k in range(length):
            state[path[k]] = 2
    # Open the nodes from above: each is entered by one arc, which settles one of its members.
    depth = 0
    for slot in range(1, size):
        if active[slot]:
            arc = best[slot]
            in_source[node[slot]], in_target[node[slot]] = source[slot, arc], target[slot, arc]
            stack[depth] = node[slot]
            depth += 1
    while depth > 0:
        depth -= 1
        top = stack[depth]
        if child[top] < 0:
            heads[top - 1] = in_source[top]
            continue
        entered = in_target[top] + 1
        while parent[entered] != top:
            entered = parent[entered]
        in_source[entered], in_target[entered] = in_source[top], in_target[top]
        below = child[top]
        while below >= 0:
            stack[depth] = below
            depth += 1
            below = sibling[below]
    modifiers = 0
    for m in range(n):
        modifiers += heads[m] == 0
    return modifiers == 1 or not single_root


@inner
def _on(path, start, stop, slot):
    for k in range(start, stop):
        if path[k] == slot:
            return True
    return False


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
def best_trees(
    first, last, scores, lengths, single_root, best, heads, score, arcs, nodes, active
):
    """``best`` (batch,) scores, -inf where there is no tree, and ``heads`` (batch, n).

    ``score``, ``arcs``, ``nodes`` and ``active`` are as for :func:`arborescence`.
    """
    for b in range(first, last):
        n = lengths[b]
        found = arborescence(scores[b], n, single_root, heads[b], score, arcs, nodes, active)
        best[b] = tree_score(scores[b], n, heads[b]) if found else -np.inf
        if not found:
            for m in range(n):
                heads[b, m] = 0


@inner
def _step(weights, total, m, n, root_allowed, state):
    """A head for word m, drawn by weight: a word's number, or n for the root."""
    left = uniform(state) * total
    chosen = -1
    for h in range(n):
        weight = weights[h, m] if h != m or root_allowed else 0.0
        if weight > 0.0:
            chosen = n if h == m else h
            left -= weight
            if left < 0.0:
                break
    return chosen


@compiled
def samples(
    first, last, weights, lengths, single_root, root_marginals, most_steps, seeds, heads, done,
    total, chosen, inside, state,
):
    """Exact samples, ``heads`` (count, batch, n), where walks take no more than ``most_steps``.

    With a single root its modifier is drawn first, from ``root_marginals`` (batch, n).
    ``total`` (n,), ``chosen`` (n,), ``inside`` (n + 1,) and ``state`` (1,) are to work in.
    """
    for b in range(first, last):
        n = lengths[b]
        state[0] = seeds[b]
        for m in range(n):
            total[m] = 0.0
            for h in range(n):
                if h != m or not single_root:
                    total[m] += weights[b, h, m]
        done[b] = True
        for count in range(heads.shape[0]):
            for m in range(n):
                inside[m] = False
            inside[n] = True
            top = -1
            if single_root:
                left = uniform(state)
                for m in range(n):
                    if root_marginals[b, m] > 0.0:
                        top = m
                        left -= root_marginals[b, m]
                        if left < 0.0:
                            break
                inside[top] = True
                heads[count, b, top] = 0
            steps = 0
            for begin in range(n):
                word = begin
                while not inside[word] and steps < most_steps:
                    chosen[word] = _step(weights[b], total[word], word, n, not single_root, state)
                    if chosen[word] < 0:
                        steps = most_steps
                        break
                    word = chosen[word]
                    steps += 1
                if steps >= most_steps:
                    done[b] = False
                    break
                word = begin
                while not inside[word]:
                    inside[word] = True
                    heads[count, b, word] = 0 if chosen[word] == n else chosen[word] + 1
                    word = chosen[word]
            if not done[b]:
                break
