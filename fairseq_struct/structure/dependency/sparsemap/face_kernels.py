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

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.compiled import compiled, inner
from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import (
    row_of,
    tree_score,
)
from fairseq_struct.structure.dependency.sparsemap.active_set_kernels import (
    append,
    lower_solve,
    upper_solve,
)
from fairseq_struct.structure.random_kernels import uniform

# The size of a nudge, to the scores that a tree sums up or to 1: far above rounding, and below what
# tells best trees from others.
NUDGE = 1e-10
SEED = np.uint64(1)


class Nudges(NamedTuple):
    """How the sentences of a block are nudged.

    Args:
        residuals, directions: (block, n, n).
        amounts: (block,) sizes of the nudges: 0 before the first, below 0 where -v is tried.
        fresh: (block,) whether v is a random direction, no other tree having been found since.
        due: (block,) whether another random direction is to be drawn.
        states: (block, 1) of the random numbers.
    """

    residuals: np.ndarray
    directions: np.ndarray
    amounts: np.ndarray
    fresh: np.ndarray
    due: np.ndarray
    states: np.ndarray


@inner
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


@inner
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


@inner
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


@inner
def _extend(start, waiting, lanes, room, sets, algebra, nudges):
    """Add the best trees that are new; how many sentences are not done. Their lanes come first."""
    places, own, _, _, heads = lanes
    _, directions, amounts, fresh, due, _ = nudges
    (rooms, full), (trees, alpha, sizes), (factors, _, work, ones) = room, sets, algebra
    left = 0
    for lane in range(waiting):
        place, n = places[lane], own[lane]
        b, factor = start + place, factors[place]
        if sizes[b] == rooms[b]:
            full[b] = True
            continue
        if append(factor, sizes[b], trees[b], heads[lane], n, work):
            for m in range(n):
                trees[b, sizes[b], m] = heads[lane, m]
            alpha[b, sizes[b]] = 0.0
            sizes[b] += 1
            amounts[place] = abs(amounts[place])
            _next_direction(n, sizes[b], trees[b], factor, ones, directions[place])
            fresh[place] = False
        elif amounts[place] > 0.0:
            amounts[place] = -amounts[place]
        elif not fresh[place]:
            amounts[place] = -amounts[place]
            due[place] = True
        else:
            continue
        places[left] = place
        left += 1
    return left


@compiled
def nudge(start, waiting, found, lanes, lengths, room, sets, algebra, nudges):
    """The lanes' scores: residual + amount * direction, a random one where that is due.

    If best trees were ``found``, those that are new come in first; sentences without are done. How
    many are not: the lanes that come first are for them. Where the amount is 0, it is set before.

    Args:
        lanes, sets, algebra: as for :func:`.pursuit_kernels.renew`.
        lengths: (batch,).
        room: (batch,) most trees, and (batch,) whether the search ended for want of room.
        nudges: fields of :class:`Nudges`.
    """
    if found:
        waiting = _extend(start, waiting, lanes, room, sets, algebra, nudges)
    places, own, nudged, _, _ = lanes
    residuals, directions, amounts, fresh, due, states = nudges
    (trees, _, sizes), (factors, _, _, work) = sets, algebra
    for lane in range(waiting):
        place = places[lane]
        b = start + place
        n = own[lane] = lengths[b]
        if amounts[place] == 0.0:
            magnitude = abs(tree_score(residuals[place], n, trees[b, 0]))
            amounts[place] = NUDGE * max(1.0, magnitude)
            # Not the direction again that a search has used up that ended for want of room.
            states[place, 0] = SEED + np.uint64(sizes[b])
        if due[place]:
            _random_direction(
                n, sizes[b], trees[b], factors[place], states[place], work, directions[place]
            )
            fresh[place], due[place] = True, False
        for h in range(n):
            for m in range(n):
                amount = amounts[place] * directions[place, h, m]
                nudged[lane, h, m] = residuals[place, h, m] + amount
    return waiting
