"""Compiled search for the face of the marginal polytope that a SparseMAP solution lies in.

The Jacobian of SparseMAP is that of the face whose trees are all best under the residual s - mu. A
solution needs few of them: those that others can stand in for have weight 0, or a weight that is
lost in rounding, and the search for better trees does not meet them. Here they are found by a
nudge. A direction v that is orthogonal to all trees at hand, <v, z_a> = 0, says nothing of them;
but the best tree under s - mu + epsilon v has more of v, if a best one of s - mu has. Once neither
a random v nor -v finds another tree, the face is complete.

A tree z more takes w, its part outside of the span, out of v: v - <v, z> / |w|^2 w. That is less
work than another random direction, but z being the tree that has most of v, little is left of v
after some dozens of trees; then another direction is drawn.
"""

import numpy as np

from fairseq_struct.structure.active_set_kernels import (
    append,
    factorise,
    lower_solve,
    upper_solve,
)
from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.random_kernels import uniform
from fairseq_struct.structure.spanning_tree_kernels import arborescence, row_of, tree_score
from fairseq_struct.structure.sparsemap_kernels import best_projective, residual_scores

# The size of a nudge, to the scores that a tree sums up or to 1: far above rounding, and below what
# tells best trees from others.
NUDGE = 1e-10
SEED = np.uint64(1)


@compiled
def _subtract(n, size, trees, amounts, direction):
    """direction - sum_a amounts_a z_a, its largest entry scaled to 1."""
    for a in range(size):
        for m in range(n):
            direction[row_of(trees[a], m), m] -= amounts[a]
    largest = 0.0
    for h in range(n):
        for m in range(n):
            largest = max(largest, abs(direction[h, m]))
    for h in range(n):
        for m in range(n):
            direction[h, m] /= largest


@compiled
def _random_direction(n, size, trees, factor, state, amounts, direction):
    """A random direction that is orthogonal to the trees at hand."""
    for h in range(n):
        for m in range(n):
            direction[h, m] = 2.0 * uniform(state) - 1.0
    for a in range(size):
        amounts[a] = tree_score(direction, n, trees[a])
    lower_solve(factor, size, amounts, amounts)
    upper_solve(factor, size, amounts)
    _subtract(n, size, trees, amounts, direction)


@compiled
def _next_direction(n, size, trees, factor, amounts, direction):
    """The same, orthogonal to the last of the trees, too."""
    last = size - 1
    share = tree_score(direction, n, trees[last]) / factor[last, last] ** 2
    for a in range(last):
        amounts[a] = factor[last, a]
    upper_solve(factor, last, amounts)
    for a in range(last):
        amounts[a] *= -share
    amounts[last] = share
    _subtract(n, size, trees, amounts, direction)


@compiled
def complete_faces(
    first, last, block, scores, lengths, rooms, projective, single_root, trees, alpha, sizes, full,
    factors, numbers, residuals, directions, nudged, nudges, fresh, states, places, highest, heads,
    stack, no_state, score, arcs, nodes, charts, spread, vectors,
):
    """Add trees of weight 0 to sentences ``first * block`` .. until their faces are complete.

    Args:
        scores: (batch, n, n).
        rooms: (batch,) most trees.
        trees, alpha: (batch, most, n) and (batch, most): the solution and room for more.
        sizes: (batch,) number of trees, also as a result.
        full: (batch,) whether the search ended for want of room.
        factors, numbers: see ``active_set.search``.
        residuals, directions, nudged: (block, n, n), nudges, fresh: (block,), and states:
            (block, 1), to work in; those that follow, see ``active_set.search_spaces``.
    """
    batch, work, amounts = scores.shape[0], numbers[0], numbers[1]
    own, unfinished = places[0], places[1]
    for group in range(first, last):
        start = group * block
        waiting = np.int64(0)  # for a plain 0 Numba would compile functions once more
        for place in range(min(block, batch - start)):
            b = start + place
            n, residual = lengths[b], residuals[place]
            sizes[b] = factorise(factors[place], sizes[b], trees[b], alpha[b], n, work)
            residual_scores(
                scores[b], n, single_root, sizes[b], trees[b], alpha[b], residual, work
            )
            nudges[place] = NUDGE * max(1.0, abs(tree_score(residual, n, trees[b, 0])))
            # Not the direction again that a search has used up that ended for want of room.
            states[place, 0] = SEED + np.uint64(sizes[b])
            _random_direction(
                n, sizes[b], trees[b], factors[place], states[place], amounts, directions[place]
            )
            fresh[place] = True
            unfinished[waiting] = place
            waiting += 1
        while waiting > 0:
            for lane in range(waiting):
                place = unfinished[lane]
                n = lengths[start + place]
                own[lane] = n
                for h in range(n):
                    for m in range(n):
                        nudge = nudges[place] * directions[place, h, m]
                        nudged[lane, h, m] = residuals[place, h, m] + nudge
                if not projective:
                    arborescence(
                        nudged[lane], n, single_root, heads[lane], score, arcs, nodes
                    )
            if projective:
                best_projective(
                    waiting, nudged, own, single_root, (charts, spread, vectors),
                    (stack, no_state), highest, heads,
                )
            left = 0
            for lane in range(waiting):
                place = unfinished[lane]
                b, n, factor = start + place, own[lane], factors[place]
                if sizes[b] == rooms[b]:
                    full[b] = True
                    continue
                if append(factor, sizes[b], trees[b], heads[lane], n, work):
                    for m in range(n):
                        trees[b, sizes[b], m] = heads[lane, m]
                    alpha[b, sizes[b]] = 0.0
                    sizes[b] += 1
                    nudges[place] = abs(nudges[place])
                    _next_direction(n, sizes[b], trees[b], factor, amounts, directions[place])
                    fresh[place] = False
                elif nudges[place] > 0.0:
                    nudges[place] = -nudges[place]
                elif not fresh[place]:
                    nudges[place] = -nudges[place]
                    _random_direction(
                        n, sizes[b], trees[b], factor, states[place], amounts, directions[place]
                    )
                    fresh[place] = True
                else:
                    continue
                unfinished[left] = place
                left += 1
            waiting = left
