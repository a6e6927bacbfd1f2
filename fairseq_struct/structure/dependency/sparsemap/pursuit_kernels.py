"""Compiled SparseMAP: Euclidean projection onto the convex hull of trees, by active sets.

SparseMAP(s) = argmax <s, mu> - |mu|^2 / 2 over mu in conv(trees) (Niculae et al., 2018). The
active set method keeps a few trees z_a with weights alpha_a > 0, mu = sum_a alpha_a z_a:

1. solve the problem on the current trees, with weights of any sign;
2. if a weight would turn negative, stop where the first one reaches 0, drop its tree, repeat 1;
3. find the best tree under s - mu. If it is no better than the current trees, mu is optimal: the
   gap max_z <s - mu, z> - <s - mu, mu> bounds |mu - mu*|^2 / 2. Otherwise add it.

Several sentences go through these steps in parallel lanes, so that one chart serves to find the
best trees of all of them.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import (
    row_of,
    tree_score,
)
from fairseq_struct.structure.dependency.sparsemap.active_set_kernels import (
    append,
    change_of_weights,
    factorise,
    improve,
)
from fairseq_struct.structure.kernels.compiled import compiled, inner


class Search(NamedTuple):
    """Limits of a search, and its progress.

    Args:
        rooms: (batch,) capacity for trees.
        full: (batch,) whether it ended for lack of room.
        most_steps: (batch,) maximum number of searches for a best tree.
        gaps: (batch,) gaps at the end; infinite if there is no tree.
        steps: (batch,) number of searches for a best tree so far.
        tolerance: gap at which to stop.
    """

    rooms: np.ndarray
    full: np.ndarray
    most_steps: np.ndarray
    gaps: np.ndarray
    steps: np.ndarray
    tolerance: float


class Lanes(NamedTuple):
    """The sentences of a block that are not done, one per lane, and their best trees.

    Args:
        places: (block,) position of each lane's sentence in the block.
        lengths: (block,) their lengths.
        scores: (block, n, n) scores for the search of best trees.
        best: (block,) scores of the best trees, -inf without a tree.
        heads: (block, n) the best trees.
    """

    places: np.ndarray
    lengths: np.ndarray
    scores: np.ndarray
    best: np.ndarray
    heads: np.ndarray


@inner
def residual_scores(scores, n, single_root, size, trees, alpha, residual, highest):
    """residual = scores - mu, shifted so that every word's maximum is 0.

    A tree has one arc into every word and, with a single root, one from the root. So both shifts
    are the same for all trees. Small numbers keep more digits, above all in float32. ``highest`` is
    a work array.
    """
    for h in range(n):
        for m in range(n):
            residual[h, m] = scores[h, m]
    for a in range(size):
        for m in range(n):
            residual[row_of(trees[a], m), m] -= alpha[a]
    for m in range(n):
        highest[m] = -np.inf
    for h in range(n):
        for m in range(h):
            highest[m] = max(highest[m], residual[h, m])
        for m in range(h + 1, n):
            highest[m] = max(highest[m], residual[h, m])
    if single_root:
        above = -np.inf
        for m in range(n):
            if highest[m] > -np.inf:
                above = max(above, residual[m, m] - highest[m])
        if above > -np.inf:
            for m in range(n):
                residual[m, m] -= above
    for m in range(n):
        highest[m] = max(highest[m], residual[m, m])
    for h in range(n):
        for m in range(n):
            residual[h, m] -= highest[m]


@compiled
def renew(start, waiting, lanes, problem, sets, algebra, added):
    """Compute residuals and lengths of the sentences in the first ``waiting`` lanes.

    If trees were ``added``, weights are updated first. The pulls of these trees must be known.

    Args:
        lanes, sets, algebra: fields of :class:`Lanes`, :class:`.ActiveSets`, :class:`.Algebra`.
        problem: (batch, n, n) scores, each word's shifted by its maximum; (batch,) lengths; and
            whether the root has exactly one modifier.
    """
    places, own, residuals, _, _ = lanes
    scores, lengths, single_root = problem
    trees, alpha, sizes = sets
    factors, pulls, work, ones = algebra
    for lane in range(waiting):
        place = places[lane]
        b = start + place
        n = own[lane] = lengths[b]
        if added:
            sizes[b] = improve(
                n, sizes[b], trees[b], alpha[b], pulls[place], factors[place], work, ones
            )
        residual_scores(
            scores[b], n, single_root, sizes[b], trees[b], alpha[b], residuals[lane], work
        )


@compiled
def extend(start, waiting, lanes, search, sets, algebra, rough):
    """Add the best trees where they are better than the current ones.

    Returns the number of sentences with a new tree. They move to the first lanes. A ``rough``
    search leaves one step for the exact search.

    Args:
        search: fields of :class:`Search`; for the others see :func:`renew`.
    """
    places, lengths, residuals, highest, heads = lanes
    rooms, full, most_steps, gaps, steps, tolerance = search
    trees, alpha, sizes = sets
    factors, pulls, work, _ = algebra
    left = 0
    for lane in range(waiting):
        place, n, residual = places[lane], lengths[lane], residuals[lane]
        b = start + place
        if highest[lane] == -np.inf:
            continue
        steps[b] += 1
        size, top, bottom, at_mu = sizes[b], -np.inf, np.inf, 0.0
        for a in range(size):
            pull = tree_score(residual, n, trees[b, a])
            pulls[place, a] = pull
            at_mu += alpha[b, a] * pull
            top, bottom = max(top, pull), min(bottom, pull)
        best = tree_score(residual, n, heads[lane])
        if size > 0:
            gaps[b] = max(best - at_mu, 0.0)
            # All current trees should score the same: their differences are rounding.
            if gaps[b] <= tolerance or best <= top + (top - bottom):
                continue
            if steps[b] >= most_steps[b] - rough:
                continue
        if size == rooms[b]:
            full[b] = True
            steps[b] -= 1  # this search is repeated with more room
            continue
        if not append(factors[place], size, trees[b], heads[lane], n, work):
            continue
        for m in range(n):
            trees[b, size, m] = heads[lane, m]
        alpha[b, size] = 0.0 if size > 0 else 1.0
        pulls[place, size] = best
        sizes[b] = size + 1
        places[left] = place
        left += 1
    return left


@compiled
def factorise_all(start, count, lengths, sets, algebra):
    """Factors of the initial trees of ``count`` sentences from ``start`` on."""
    (trees, alpha, sizes), (factors, _, work, _) = sets, algebra
    for place in range(count):
        b = start + place
        sizes[b] = factorise(factors[place], sizes[b], trees[b], alpha[b], lengths[b], work)


@compiled
def pulls_of(start, waiting, lanes, sets, algebra):
    """Scores of the current trees under their residuals."""
    (places, lengths, residuals, _, _), (trees, _, sizes) = lanes, sets
    for lane in range(waiting):
        place = places[lane]
        b = start + place
        for a in range(sizes[b]):
            algebra[1][place, a] = tree_score(residuals[lane], lengths[lane], trees[b, a])


@compiled
def means(first, last, lengths, trees, alpha, sizes, mu):
    """mu (batch, n, n) = weighted sum of the trees."""
    for b in range(first, last):
        for a in range(sizes[b]):
            for m in range(lengths[b]):
                mu[b, row_of(trees[b, a], m), m] += alpha[b, a]


@compiled
def jacobian_products(
    first, last, lengths, trees, sizes, direction, products, factor, numbers, chosen
):
    """Jacobian of mu with respect to the scores (symmetric) times a direction.

    Within the face spanned by the trees M, mu = M alpha and G alpha = M' s - tau. So the Jacobian
    is M (G^-1 - G^-1 1 1' G^-1 / 1' G^-1 1) M'. ``factor`` (most, most), ``numbers`` (4, most) and
    ``chosen`` (most, n) are work arrays.
    """
    pulls, change, ones, work = numbers[0], numbers[1], numbers[2], numbers[3]
    for b in range(first, last):
        # With a plain 0, Numba would compile functions a second time.
        n, size = lengths[b], np.int64(0)
        for a in range(sizes[b]):
            if append(factor, size, chosen, trees[b, a], n, work):
                for m in range(n):
                    chosen[size, m] = trees[b, a, m]
                pulls[size] = tree_score(direction[b], n, trees[b, a])
                size += 1
        if size < 2:
            continue
        change_of_weights(factor, size, pulls, change, ones)
        for a in range(size):
            for m in range(n):
                products[b, row_of(chosen[a], m), m] += change[a]
