"""Compiled search among all dependency trees: the best one, and exact samples.

The best tree is the maximum spanning arborescence, by the algorithm of Chu and Liu (1965) and
Edmonds (1967) on a dense graph in O(n^2): follow best heads from word to word, contract every
cycle that closes into one node, and at last open the contracted nodes where the tree enters
them. A sample is drawn by Wilson's algorithm (1996), by loop-erased random walks.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.random_kernels import seeded, uniform

MANY = 1 << 40


@compiled
def _better(score, roots, best, fewest):
    """Whether an arc beats another: by fewer arcs from the root, where they count, then score.

    A penalty on the root's arcs would do the same, but cost the scores their last digits.
    """
    return score > -np.inf and (roots < fewest or (roots == fewest and score > best))


@compiled
def _best_head(score, roots, active, slot, size):
    best, fewest, chosen = -np.inf, MANY, -1
    for h in range(size):
        if active[h] and h != slot and _better(score[slot, h], roots[slot, h], best, fewest):
            best, fewest, chosen = score[slot, h], roots[slot, h], h
    return chosen


@compiled
def arborescence(scores, n, single_root, heads):
    """Best tree of one sentence into ``heads`` (1-based, 0 the root); whether there is one.

    Slot 0 is the root, slot i + 1 starts as word i; a contracted node takes the slot of one of
    its members. Nodes, unlike slots, are never used twice: 0 .. n, then contracted ones.
    """
    size, nodes = n + 1, 2 * n + 1
    score = np.full((size, size), -np.inf)  # score[m, h] of slot h as head of slot m
    source = np.empty((size, size), np.int64)  # word at the arc's upper end
    target = np.empty((size, size), np.int64)  # word at its lower end
    roots = np.zeros((size, size), np.int64)  # arcs from the root, more than instead of it
    if single_root:
        roots[1:, 0] = 1
    for m in range(n):
        for h in range(n):
            if h == m:
                score[m + 1, 0] = scores[m, m]
            else:
                score[m + 1, h + 1] = scores[h, m]
            source[m + 1, h + 1], target[m + 1, h + 1] = h + 1, m
        source[m + 1, 0], target[m + 1, 0] = 0, m
    active = np.ones(size, np.bool_)
    node = np.arange(size)  # the node in each slot
    parent, child, sibling = np.full(nodes, -1), np.full(nodes, -1), np.full(nodes, -1)
    in_source, in_target = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    best = np.zeros(size, np.int64)
    state = np.zeros(size, np.int64)  # 0 not seen, 1 on the path, 2 settled
    state[0] = 2
    path = np.empty(size, np.int64)
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
    stack = np.empty(nodes, np.int64)
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
    if single_root:
        roots = 0
        for m in range(n):
            roots += heads[m] == 0
        return roots == 1
    return True


@compiled
def _on(path, start, stop, slot):
    for k in range(start, stop):
        if path[k] == slot:
            return True
    return False


@compiled
def row_of(heads, m):
    """Row of the arc into word m: its head's, or for the root its own."""
    return heads[m] - 1 if heads[m] > 0 else m


@compiled
def tree_score(scores, n, heads):
    total = 0.0
    for m in range(n):
        total += scores[row_of(heads, m), m]
    return total


@compiled
def best_trees(first, last, scores, lengths, single_root, best, heads):
    """``best`` (batch,) scores, -inf where there is no tree, and ``heads`` (batch, n)."""
    for b in range(first, last):
        n = lengths[b]
        if arborescence(scores[b], n, single_root, heads[b]):
            best[b] = tree_score(scores[b], n, heads[b])
        else:
            best[b] = -np.inf
            heads[b, :] = 0


@compiled
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
    first, last, weights, lengths, single_root, root_marginals, most_steps, seeds, heads, done
):
    """Exact samples, ``heads`` (count, batch, n), where walks take no more than ``most_steps``.

    With a single root its modifier is drawn first, from ``root_marginals`` (batch, n).
    """
    size = weights.shape[1]
    inside = np.empty(size + 1, np.bool_)
    total, chosen = np.empty(size), np.empty(size, np.int64)
    for b in range(first, last):
        n = lengths[b]
        state = seeded(seeds[b])
        for m in range(n):
            total[m] = 0.0
            for h in range(n):
                if h != m or not single_root:
                    total[m] += weights[b, h, m]
        done[b] = True
        for count in range(heads.shape[0]):
            inside[:] = False
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
