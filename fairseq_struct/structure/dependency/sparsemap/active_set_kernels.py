"""Compiled linear algebra of an active set of trees: their weights, kept up to date.

The current trees are z_a, their mean is mu = sum_a alpha_a z_a. G_ab is the number of arcs that
z_a and z_b share. The pull p_a = <s - mu, z_a> is the score of z_a under the residual. The weights
that solve the projection on these trees, with any sign, are alpha + d, with G d = p - tau and
sum d = 0. Every change starts from scores of the residual s - mu itself, so each change corrects
the errors of the one before.

The Cholesky factor of G is updated: a new tree adds a row, a removed tree needs plane rotations.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.kernels.compiled import inner

# A tree with a smaller squared distance from the span of the current trees depends on them.
DEPENDENT = 1e-9


class ActiveSets(NamedTuple):
    """Active sets, a row for each sentence.

    Args:
        trees: (batch, room, n) heads.
        weights: (batch, room).
        sizes: (batch,) number of trees.
    """

    trees: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray


class Algebra(NamedTuple):
    """Work arrays to compute the weights of a block's sentences.

    Args:
        factors: (block, room, room) the Cholesky factors.
        pulls: (block, room) scores of the current trees under the residuals.
        change, ones: (room,) work arrays.
    """

    factors: np.ndarray
    pulls: np.ndarray
    change: np.ndarray
    ones: np.ndarray


@inner
def lower_solve(factor, size, right, out):
    """out = factor^-1 right, factor lower triangular."""
    for i in range(size):
        row, known = factor[i, :i], out[:i]
        total = right[i]
        for j in range(row.size):
            total -= row[j] * known[j]
        out[i] = total / factor[i, i]


@inner
def upper_solve(factor, size, vector):
    """vector = factor^-T vector, in place."""
    for i in range(size - 1, -1, -1):
        vector[i] /= factor[i, i]
        row, rest, own = factor[i, :i], vector[:i], vector[i]
        for j in range(row.size):
            rest[j] -= own * row[j]


@inner
def _common_arcs(first, second, n):
    total = 0
    for m in range(n):
        total += first[m] == second[m]
    return float(total)


@inner
def append(factor, size, trees, tree, n, work):
    """Extend the factor by ``tree``; False if it depends linearly on the others."""
    for a in range(size):
        work[a] = _common_arcs(trees[a], tree, n)
    lower_solve(factor, size, work, factor[size])
    rest = float(n)
    for a in range(size):
        rest -= factor[size, a] ** 2
    if rest < DEPENDENT:
        return False
    factor[size, size] = np.sqrt(rest)
    return True


@inner
def factorise(factor, size, trees, alpha, n, work):
    """Factor ``size`` trees, drop those that depend on others, and return how many are left.

    Weights are scaled to sum to 1. They become equal if the remaining weights are all 0.
    """
    left, total = np.int64(0), 0.0  # with a plain 0, Numba would compile functions twice
    for a in range(size):
        if append(factor, left, trees, trees[a], n, work):
            for m in range(n):
                trees[left, m] = trees[a, m]
            alpha[left] = alpha[a]
            total += alpha[a]
            left += 1
    for a in range(left):
        alpha[a] = alpha[a] / total if 0.0 < total < np.inf else 1.0 / left
    return left


@inner
def _remove(factor, size, which):
    """Delete row ``which`` and make the factor triangular again by plane rotations."""
    for i in range(which, size - 1):
        for a in range(i + 2):
            factor[i, a] = factor[i + 1, a]
    for i in range(which, size - 1):
        x, y = factor[i, i], factor[i, i + 1]
        length = np.hypot(x, y)
        cosine, sine = x / length, y / length
        for row in range(i, size - 1):
            x, y = factor[row, i], factor[row, i + 1]
            factor[row, i] = cosine * x + sine * y
            factor[row, i + 1] = cosine * y - sine * x


@inner
def change_of_weights(factor, size, pulls, change, ones):
    """The change d of the weights: G d = pulls - tau, sum d = 0.

    Only differences of pulls count; relative to the highest pull they keep their digits.
    """
    highest = -np.inf
    for a in range(size):
        highest = max(highest, pulls[a])
    for a in range(size):
        change[a], ones[a] = pulls[a] - highest, 1.0
    lower_solve(factor, size, change, change)
    lower_solve(factor, size, ones, ones)
    both, square = 0.0, 0.0
    for a in range(size):
        both += change[a] * ones[a]
        square += ones[a] * ones[a]
    tau = both / square
    for a in range(size):
        change[a] -= tau * ones[a]
    upper_solve(factor, size, change)


@inner
def improve(n, size, trees, alpha, pulls, factor, change, ones):
    """Solve on the current trees; drop a tree if its weight would turn negative.

    Returns the number of trees left; ``trees``, ``alpha`` and ``pulls`` close the gaps.
    """
    while True:
        change_of_weights(factor, size, pulls, change, ones)
        step, blocking = 1.0, np.int64(-1)  # as in ``factorise``
        for a in range(size):
            if alpha[a] + change[a] <= 0.0:
                bound = alpha[a] / -change[a] if alpha[a] > 0.0 else 0.0
                if bound < step or blocking < 0:
                    step, blocking = bound, a
        if blocking < 0:
            for a in range(size):
                alpha[a] += change[a]
            return size
        # After a share of the step, the same share of the pulls is gone, up to a constant.
        for a in range(size):
            alpha[a] += step * change[a]
            pulls[a] *= 1.0 - step
        _remove(factor, size, blocking)
        for a in range(blocking, size - 1):
            alpha[a], pulls[a] = alpha[a + 1], pulls[a + 1]
            for m in range(n):
                trees[a, m] = trees[a + 1, m]
        size -= 1
