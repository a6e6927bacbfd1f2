"""Compiled SparseMAP: Euclidean projection onto the convex hull of trees, by active sets.

SparseMAP(s) = argmax <s, mu> - |mu|^2 / 2 over mu in conv(trees) (Niculae et al., 2018). The
active set method keeps a few trees z_a with weights alpha_a > 0, mu = sum_a alpha_a z_a:

1. solve the problem on the trees at hand without regard to signs: with G their numbers of common
   arcs and b their scores, G alpha = b - tau, sum alpha = 1;
2. if a weight would turn negative, go as far as it allows, drop its tree, and repeat 1;
3. ask for the best tree under s - mu. If it is no better than those at hand, mu is optimal: the
   gap max_z <s - mu, z> - <s - mu, mu> bounds |mu - mu*|^2 / 2. Otherwise add it.

G's Cholesky factor follows along: a tree more is a row more, a tree less costs plane rotations.
Several sentences go through these steps side by side, so that the best trees of all of them are
found in one chart.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.eisner_kernels import decode, inside_maximum
from fairseq_struct.structure.projective_kernels import ROOT_WEIGHT, load
from fairseq_struct.structure.spanning_tree_kernels import arborescence, tree_score

# A tree whose distance from the span of those at hand is less than this is one of them.
DEPENDENT = 1e-9


@compiled
def _lower_solve(factor, size, right, out):
    """out = factor^-1 right, factor lower triangular."""
    for i in range(size):
        row, known = factor[i, :i], out[:i]
        total = right[i]
        for j in range(row.size):
            total -= row[j] * known[j]
        out[i] = total / factor[i, i]


@compiled
def _upper_solve(factor, size, vector):
    """vector = factor^-T vector, in place."""
    for i in range(size - 1, -1, -1):
        vector[i] /= factor[i, i]
        row, rest, own = factor[i, :i], vector[:i], vector[i]
        for j in range(row.size):
            rest[j] -= own * row[j]


@compiled
def _common_arcs(first, second, n):
    total = 0
    for m in range(n):
        total += first[m] == second[m]
    return float(total)


@compiled
def _append(factor, size, trees, tree, n, work):
    """Extend the factor by ``tree``; False if it depends linearly on the others."""
    for a in range(size):
        work[a] = _common_arcs(trees[a], tree, n)
    _lower_solve(factor, size, work, factor[size])
    rest = float(n)
    for a in range(size):
        rest -= factor[size, a] ** 2
    if rest < DEPENDENT:
        return False
    factor[size, size] = np.sqrt(rest)
    return True


@compiled
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


@compiled
def _solve_on_trees(factor, size, values, total, solution, ones):
    """Weights that sum to ``total`` and solve the problem on the trees at hand (step 1).

    Only differences of values count; from the highest on they keep their digits.
    """
    highest = -np.inf
    for a in range(size):
        highest = max(highest, values[a])
    for a in range(size):
        solution[a], ones[a] = values[a] - highest, 1.0
    for vector in (solution, ones):
        _lower_solve(factor, size, vector, vector)
        _upper_solve(factor, size, vector)
    excess, of_ones = -total, 0.0
    for a in range(size):
        excess += solution[a]
        of_ones += ones[a]
    for a in range(size):
        solution[a] -= excess / of_ones * ones[a]


@compiled
def _improve(n, size, trees, alpha, values, factor, solution, ones):
    """Steps 1 and 2, until all weights are positive; the number of trees left."""
    while True:
        _solve_on_trees(factor, size, values, 1.0, solution, ones)
        step, blocking = 1.0, -1
        for a in range(size):
            if solution[a] <= 0.0:
                bound = alpha[a] / (alpha[a] - solution[a]) if alpha[a] > 0.0 else 0.0
                if bound < step or blocking < 0:
                    step, blocking = bound, a
        if blocking < 0:
            for a in range(size):
                alpha[a] = solution[a]
            return size
        for a in range(size):
            alpha[a] += step * (solution[a] - alpha[a])
        _remove(factor, size, blocking)
        for a in range(blocking, size - 1):
            alpha[a], values[a] = alpha[a + 1], values[a + 1]
            for m in range(n):
                trees[a, m] = trees[a + 1, m]
        size -= 1


@compiled
def _residual(scores, n, size, trees, alpha, residual):
    """residual = scores - mu."""
    for h in range(n):
        for m in range(n):
            residual[h, m] = scores[h, m]
    for a in range(size):
        for m in range(n):
            head = trees[a, m] - 1 if trees[a, m] > 0 else m
            residual[head, m] -= alpha[a]


@compiled
def _best_projective(
    waiting, residuals, lengths, single_root, charts, spread, stack, highest, heads
):
    """The best tree of each of the first ``waiting`` residuals, in the charts' precision."""
    no_state = np.empty(0, np.uint64)
    vectors = np.empty((3, residuals.shape[1] + 1, waiting), charts.dtype)
    first = np.int64(0)  # for a plain 0 Numba would compile these functions once more
    n = load(residuals, lengths, first, waiting, -np.inf, spread, vectors[ROOT_WEIGHT])
    inside_maximum(n, waiting, spread, single_root, lengths, first, charts, vectors, highest)
    for lane in range(waiting):
        if highest[lane] > -np.inf:
            decode(
                lengths[lane], waiting, lane, single_root, charts, vectors, no_state, stack,
                heads[lane],
            )


@compiled
def _pursue(
    start, waiting, unfinished, scores, lengths, projective, single_root, most_steps, tolerance,
    trees, alpha, sizes, gaps, steps, values, factors, residuals, charts, spread, rough_charts,
    rough_spread, rough,
):
    """Add best trees to the ``waiting`` sentences ``start + unfinished`` until none is better.

    A search that is only ``rough`` leaves one step for another one.
    """
    longest, most = scores.shape[1], trees.shape[1]
    work, ones, highest = np.empty(most), np.empty(most), np.empty(waiting)
    heads, own = np.empty((waiting, longest), np.int64), np.empty(waiting, np.int64)
    stack = np.empty((3 * longest + 3, 3), np.int64)
    while waiting > 0:
        for lane in range(waiting):
            b = start + unfinished[lane]
            own[lane] = lengths[b]
            _residual(scores[b], own[lane], sizes[b], trees[b], alpha[b], residuals[lane])
        if not projective:
            for lane in range(waiting):
                found = arborescence(residuals[lane], own[lane], single_root, heads[lane])
                highest[lane] = 0.0 if found else -np.inf
        elif rough:
            _best_projective(
                waiting, residuals, own, single_root, rough_charts, rough_spread, stack, highest,
                heads,
            )
        else:
            _best_projective(
                waiting, residuals, own, single_root, charts, spread, stack, highest, heads
            )
        left = 0
        for lane in range(waiting):
            place = unfinished[lane]
            b, n = start + place, own[lane]
            if highest[lane] == -np.inf:
                continue
            steps[place] += 1
            size = sizes[b]
            if size > 0:
                at_mu = 0.0
                for a in range(size):
                    at_mu += alpha[b, a] * tree_score(residuals[lane], n, trees[b, a])
                gaps[b] = max(tree_score(residuals[lane], n, heads[lane]) - at_mu, 0.0)
                if gaps[b] <= tolerance or steps[place] >= most_steps[b] - rough or size >= most:
                    continue
            if not _append(factors[place], size, trees[b], heads[lane], n, work):
                continue
            for m in range(n):
                trees[b, size, m] = heads[lane, m]
            alpha[b, size] = 0.0 if size > 0 else 1.0
            values[place, size] = tree_score(scores[b], n, heads[lane])
            sizes[b] = _improve(
                n, size + 1, trees[b], alpha[b], values[place], factors[place], work, ones
            )
            unfinished[left] = place
            left += 1
        waiting = left


@compiled
def sparsemap(
    first, last, block, scores, lengths, projective, single_root, most_steps, tolerance,
    trees, alpha, sizes, gaps, factors, residuals, charts, spread, rough_charts, rough_spread,
):
    """SparseMAP of sentences ``first * block`` .. ``last * block - 1``.

    Projective trees are first looked for in float32, which is faster; the last ones, and with
    them the gaps, come from a search in float64.

    Args:
        scores: (batch, n, n), every word's shifted by their maximum.
        most_steps: (batch,) most trees to ask for.
        tolerance: gap at which to stop.
        trees, alpha, sizes: (batch, most, n), (batch, most), (batch,): the trees and weights to
            begin with, and the results.
        gaps: (batch,) gaps at the end; infinite where there is no tree.
        factors, residuals, charts, spread: (block, most, most), (block, n, n),
            (4, n, n * block) and (2, n, n * block) arrays to work in.
        rough_charts, rough_spread: as charts and spread, in float32.
    """
    batch, most = scores.shape[0], trees.shape[1]
    values = np.empty((block, most))
    work, ones = np.empty(most), np.empty(most)
    unfinished, steps = np.empty(block, np.int64), np.empty(block, np.int64)
    for group in range(first, last):
        start = group * block
        count = min(block, batch - start)
        steps[:] = 0
        for place in range(count):
            b = start + place
            given, sizes[b], gaps[b] = sizes[b], 0, np.inf
            for a in range(given):
                size = sizes[b]
                if _append(factors[place], size, trees[b], trees[b, a], lengths[b], work):
                    alpha[b, size] = alpha[b, a]
                    for m in range(lengths[b]):
                        trees[b, size, m] = trees[b, a, m]
                    values[place, size] = tree_score(scores[b], lengths[b], trees[b, a])
                    sizes[b] += 1
            if sizes[b] > 0:
                total = 0.0
                for a in range(sizes[b]):
                    total += alpha[b, a]
                for a in range(sizes[b]):
                    alpha[b, a] /= total
                sizes[b] = _improve(
                    lengths[b], sizes[b], trees[b], alpha[b], values[place], factors[place],
                    work, ones,
                )
        for rough in (True, False):
            waiting = np.int64(0)  # as above
            for place in range(count):
                if not rough or (projective and most_steps[start + place] > 1):
                    unfinished[waiting] = place
                    waiting += 1
            _pursue(
                start, waiting, unfinished, scores, lengths, projective, single_root, most_steps,
                tolerance, trees, alpha, sizes, gaps, steps, values, factors, residuals, charts,
                spread, rough_charts, rough_spread, rough,
            )


@compiled
def means(first, last, lengths, trees, alpha, sizes, mu):
    """mu (batch, n, n) = sum of the trees by their weights."""
    for b in range(first, last):
        for a in range(sizes[b]):
            for m in range(lengths[b]):
                head = trees[b, a, m] - 1 if trees[b, a, m] > 0 else m
                mu[b, head, m] += alpha[b, a]


@compiled
def jacobian_products(first, last, lengths, trees, sizes, direction, products):
    """Jacobian of mu by the scores (symmetric) times a direction, at the trees found.

    Within the face that the trees M span, mu = M alpha with alpha as in step 1, so that the
    Jacobian is M (G^-1 - G^-1 1 1' G^-1 / 1' G^-1 1) M'.
    """
    most = trees.shape[1]
    factor, values = np.empty((most, most)), np.empty(most)
    solution, ones, work = np.empty(most), np.empty(most), np.empty(most)
    for b in range(first, last):
        n, size = lengths[b], 0
        chosen = np.empty((sizes[b], n), np.int64)
        for a in range(sizes[b]):
            if _append(factor, size, chosen, trees[b, a], n, work):
                chosen[size] = trees[b, a, :n]
                values[size] = tree_score(direction[b], n, trees[b, a])
                size += 1
        if size < 2:
            continue
        _solve_on_trees(factor, size, values, 0.0, solution, ones)
        for a in range(size):
            for m in range(n):
                head = chosen[a, m] - 1 if chosen[a, m] > 0 else m
                products[b, head, m] += solution[a]
