"""Compiled search for the face of the marginal polytope that a SparseMAP solution lies in.

The Jacobian of SparseMAP is that of the face whose trees are all best under the residual s - mu. A
solution needs few of them: those that others can stand in for have weight 0, or a weight that is
lost in rounding, and the search for better trees does not meet them. Here they are found by a
nudge. A direction v that is the same for all trees at hand, <v, z_a> = tau, says nothing of
them; but the best tree under s - mu + epsilon v has more of v, if a best one of s - mu has. Once
neither a random v nor -v finds another tree, the face is complete.
"""

import numpy as np

from fairseq_struct.structure.active_set_kernels import append, change_of_weights
from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.random_kernels import seeded, uniform
from fairseq_struct.structure.spanning_tree_kernels import arborescence, tree_score
from fairseq_struct.structure.sparsemap_kernels import best_projective, residual_scores

# The size of a nudge: far above rounding, and below what tells best trees from others.
NUDGE = 1e-10
SEED = np.uint64(1)


@compiled
def _direction(n, size, trees, factor, state, pulls, change, ones, direction):
    """A random direction, of entries up to 1, in which all trees at hand are equal."""
    for h in range(n):
        for m in range(n):
            direction[h, m] = 2.0 * uniform(state) - 1.0
    for a in range(size):
        pulls[a] = tree_score(direction, n, trees[a])
    change_of_weights(factor, size, pulls, change, ones)
    for a in range(size):
        for m in range(n):
            head = trees[a, m] - 1 if trees[a, m] > 0 else m
            direction[head, m] -= change[a]
    largest = np.abs(direction[:n, :n]).max()
    direction[:n, :n] /= largest


@compiled
def complete_faces(
    first, last, block, scores, lengths, projective, single_root, trees, alpha, sizes, full,
    factors, residuals, directions, nudged, charts, spread,
):
    """Add trees of weight 0 to sentences ``first * block`` .. until their faces are complete.

    Args:
        scores: (batch, n, n).
        trees, alpha: (batch, most, n) and (batch, most): the solution and room for more.
        sizes: (batch,) number of trees, also as a result.
        full: (batch,) whether the search ended for want of room.
        factors: (block, most, most), and residuals, directions, nudged: (block, n, n), to work in.
        charts, spread: (4, n, n * block) and (2, n, n * block).
    """
    batch, most, longest = scores.shape[0], trees.shape[1], scores.shape[1]
    pulls, change, ones = np.empty(most), np.empty(most), np.empty(most)
    work, highest = np.empty(most), np.empty(block)
    unfinished, own = np.empty(block, np.int64), np.empty(block, np.int64)
    sign = np.empty(block)
    heads = np.empty((block, longest), np.int64)
    stack = np.empty((3 * longest + 3, 3), np.int64)
    states = np.empty((block, seeded(SEED).size), np.uint64)
    for group in range(first, last):
        start = group * block
        waiting = np.int64(0)
        for place in range(min(block, batch - start)):
            b = start + place
            n, known, sizes[b] = lengths[b], sizes[b], 0
            for a in range(known):
                size = sizes[b]
                if append(factors[place], size, trees[b], trees[b, a], n, work):
                    alpha[b, size] = alpha[b, a]
                    trees[b, size, :n] = trees[b, a, :n]
                    sizes[b] += 1
            if sizes[b] == 0:
                continue
            residual_scores(scores[b], n, sizes[b], trees[b], alpha[b], residuals[place])
            states[place] = seeded(SEED)
            _direction(
                n, sizes[b], trees[b], factors[place], states[place], pulls, change, ones,
                directions[place],
            )
            sign[place] = 1.0
            unfinished[waiting] = place
            waiting += 1
        while waiting > 0:
            for lane in range(waiting):
                place = unfinished[lane]
                n = lengths[start + place]
                own[lane] = n
                for h in range(n):
                    for m in range(n):
                        nudge = NUDGE * sign[place] * directions[place, h, m]
                        nudged[lane, h, m] = residuals[place, h, m] + nudge
                if not projective:
                    arborescence(nudged[lane], n, single_root, heads[lane])
            if projective:
                best_projective(
                    waiting, nudged, own, single_root, charts, spread, stack, highest, heads
                )
            left = 0
            for lane in range(waiting):
                place = unfinished[lane]
                b, n = start + place, own[lane]
                size = sizes[b]
                if size == most:
                    full[b] = True
                    continue
                if append(factors[place], size, trees[b], heads[lane], n, work):
                    trees[b, size, :n] = heads[lane, :n]
                    alpha[b, size] = 0.0
                    sizes[b] += 1
                    sign[place] = 1.0
                    _direction(
                        n, sizes[b], trees[b], factors[place], states[place], pulls, change, ones,
                        directions[place],
                    )
                elif sign[place] > 0.0:
                    sign[place] = -1.0
                else:
                    continue
                unfinished[left] = place
                left += 1
            waiting = left
