"""Compiled search for the face of the marginal polytope that a SparseMAP solution lies in.

The Jacobian of SparseMAP depends on the face of all trees that are best under the residual s - mu.
A solution needs only few of them. The other ones have weight 0, or a weight lost in rounding, and
the search for better trees does not find them. Here they are found by a nudge. A direction v that
is orthogonal to all current trees, <v, z_a> = 0, does not change their scores. But if other
trees are best under s - mu and have <v, z> > 0, such a tree is the best under s - mu + epsilon v.
If neither a random v nor -v finds another tree, the face is complete.

A new tree z removes w, its part outside of the span, from v: v - <v, z> / |w|^2 w. This is less
work than a new random direction. But z is the tree with the largest <v, z>, so little of v is left
after some dozens of trees. Then a new direction is drawn.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import (
    row_of,
    tree_score,
)
from fairseq_struct.structure.dependency.sparsemap.active_set_kernels import (
    append,
    lower_solve,
    upper_solve,
)
from fairseq_struct.structure.kernels.compiled import compiled, inner
from fairseq_struct.structure.kernels.random_kernels import uniform

# Size of a nudge: far above the rounding of a tree's score, to which the second number is relative,
# and below the differences between best trees and other trees.
NUDGE, ROUNDING = 1e-10, 1e-14
SEED = np.uint64(1)


class Nudges(NamedTuple):
    """State of the nudges of a block's sentences.

    Args:
        residuals, directions: (block, n, n).
        amounts: (block,) sizes of the nudges: 0 before the first, below 0 if -v is tried.
        fresh: (block,) whether v is a random direction that has not found a tree yet.
        due: (block,) whether a new random direction is to be drawn.
        states: (block, 1) states of the random numbers.
    """

    residuals: np.ndarray
    directions: np.ndarray
    amounts: np.ndarray
    fresh: np.ndarray
    due: np.ndarray
    states: np.ndarray


@inner
def _subtract(n, size, trees, amounts, direction):
    """direction - sum_a amounts_a z_a, scaled so that its largest absolute entry is 1."""
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
    """A random direction that is orthogonal to the current trees."""
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
    """Make the direction orthogonal to the last tree as well."""
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
    """Add new best trees; return the number of unfinished sentences, moved to the first lanes."""
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
    """Set the lanes' scores to residual + amount * direction.

    If best trees were ``found``, new ones are added first; sentences without a new tree try the
    opposite or a new direction, or are done. An amount of 0 is set to its first value. A random
    direction is drawn where it is due. Returns the number of unfinished sentences, which are in the
    first lanes.

    Args:
        lanes, sets, algebra: as for :func:`.pursuit_kernels.renew`.
        lengths: (batch,).
        room: (batch,) capacity for trees, and (batch,) whether the search ended for lack of room.
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
            amounts[place] = max(NUDGE, ROUNDING * magnitude)
            # Not the direction of an earlier search that ended for lack of room.
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
