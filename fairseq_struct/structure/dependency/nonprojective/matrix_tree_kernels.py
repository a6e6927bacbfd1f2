"""Compiled matrix-tree inference without subtraction: sums over all dependency trees.

The sum over all trees is the determinant of a Laplacian (Tutte's matrix-tree theorem; Koo et
al., 2007). LU factorisation of it subtracts numbers of equal size and loses all digits at large
scores. The elimination of Grassmann, Taksar and Heyman (1985) only adds, multiplies and divides
positive numbers. a(i, j) is the weight of head j for word i, r(i) the weight of the root for word
i. Word k is eliminated by

    d(k) = r(k) + sum_{j > k} a(k, j)
    a(i, j) += a(i, k) a(k, j) / d(k)        r(i) += a(i, k) r(k) / d(k)        (i, j > k)

and the sum over trees is the product of all d(k). If the root has exactly one modifier, the sum
over trees is the part that is linear in r: d(k) = sum_{j > k} a(k, j) for all words but the last,
and d = r for the last word. The last word must then be able to reach the root: it is the root's
modifier in the best tree.

Marginals are derivatives, computed by the same steps in reverse. The derivative with respect to a
sum equals the derivative with respect to each of its terms, so no intermediate state is stored.
"""

import numpy as np

from fairseq_struct.structure.kernels.compiled import compiled, inner

# The marginals of one word may sum to 1 up to this error.
TOLERANCE = 1e-9
# With weights of at most 1, nothing that counts is below the range of float64 if the product of all
# d(k) < 1 has a larger logarithm. Otherwise the marginals tell.
SURE = -300.0


@compiled
def load(weights, n, last_word, heads_of_word, root):
    """Transpose one sentence's weights, and swap ``last_word`` and the last word."""
    for i in range(n):
        word = swapped(i, n, last_word)
        root[i] = weights[word, word]
        for j in range(n):
            heads_of_word[i, j] = weights[swapped(j, n, last_word), word]


@inner
def swapped(i, n, last_word):
    """The word at position i, which is also the position of word i."""
    if i == last_word:
        return n - 1
    if i == n - 1:
        return last_word
    return i


@inner
def clear(matrix, rows, columns):
    """Set the first rows and columns to 0."""
    for i in range(rows):
        for j in range(columns):
            matrix[i, j] = 0.0


@inner
def _eliminate(n, single_root, a, r, d):
    """Eliminate all words; rows and columns of eliminated words keep their last values."""
    for k in range(n):
        total = 0.0 if single_root and k < n - 1 else r[k]
        row = a[k, k + 1 : n]
        for j in range(row.size):
            total += row[j]
        d[k] = total
        for i in range(k + 1, n):
            share = a[i, k] / total
            target = a[i, k + 1 : n]
            for j in range(row.size):
                target[j] += share * row[j]
            r[i] += share * r[k]


@inner
def _derivatives(n, single_root, a, r, d, by_a, by_r, q):
    """Derivatives of sum_k log d(k) with respect to the weights, after ``_eliminate``."""
    clear(by_a, n, n)
    for k in range(n - 1, -1, -1):
        row, passed = a[k, k + 1 : n], q[: n - k - 1]
        for j in range(row.size):
            passed[j] = 0.0
        to_root, through_root = r[k] / d[k], 0.0
        for i in range(k + 1, n):
            by = by_a[i, k + 1 : n]
            weight, total = a[i, k], 0.0
            for j in range(row.size):
                total += row[j] * by[j]
                passed[j] += weight * by[j]
            by_a[i, k] = total / d[k] + to_root * by_r[i]
            through_root += weight * by_r[i]
        # The weight of trees through k, once for every word that reaches the rest through k.
        through = to_root * through_root
        for j in range(row.size):
            through += row[j] / d[k] * passed[j]
        for j in range(row.size):
            by_a[k, k + 1 + j] = (passed[j] - through + 1.0) / d[k]
        by_r[k] = (through_root - through + 1.0) / d[k]
        if single_root:
            by_r[k] = through_root / d[k] if k < n - 1 else 1.0 / d[k]


@compiled
def log_partition_and_marginals(
    first, last, weights, lengths, single_root, last_words, want_marginals, log_partition,
    marginals, done, squares, rows,
):
    """Log-partition and marginals from exp of shifted scores, sentence by sentence.

    ``done`` says where results are exact. ``squares`` (2, n, n) and ``rows`` (4, n) are work
    arrays.
    """
    a, by_a = squares[0], squares[1]
    r, by_r, d, q = rows[0], rows[1], rows[2], rows[3]
    for b in range(first, last):
        n, top = lengths[b], last_words[b]
        load(weights[b], n, top, a, r)
        _eliminate(n, single_root, a, r, d)
        total, lost, good = 0.0, 0.0, True
        for k in range(n):
            good = good and 1e-290 < d[k] < 1e290
            total += np.log(d[k])
            lost += min(np.log(d[k]), 0.0)
        log_partition[b] = total
        if good and (want_marginals or lost < SURE):
            _derivatives(n, single_root, a, r, d, by_a, by_r, q)
            for i in range(n):
                m = swapped(i, n, top)
                # Rounding may leave a negative number near 0.
                total = max(weights[b, m, m] * by_r[i], 0.0)
                marginals[b, m, m] = total
                for j in range(n):
                    if j != i:
                        h = swapped(j, n, top)
                        value = max(weights[b, h, m] * by_a[i, j], 0.0)
                        marginals[b, h, m] = value
                        total += value
                good = good and abs(total - 1.0) < TOLERANCE
        done[b] = good


@inner
def _eliminate_tangents(n, single_root, a, da, r, dr, d, dd):
    for k in range(n):
        total, dtotal = r[k], dr[k]
        if single_root and k < n - 1:
            total, dtotal = 0.0, 0.0
        row, drow = a[k, k + 1 : n], da[k, k + 1 : n]
        for j in range(row.size):
            total += row[j]
            dtotal += drow[j]
        d[k], dd[k] = total, dtotal
        for i in range(k + 1, n):
            share = a[i, k] / total
            dshare = (da[i, k] - share * dtotal) / total
            target, dtarget = a[i, k + 1 : n], da[i, k + 1 : n]
            for j in range(row.size):
                target[j] += share * row[j]
                dtarget[j] += dshare * row[j] + share * drow[j]
            r[i] += share * r[k]
            dr[i] += dshare * r[k] + share * dr[k]


@inner
def _derivatives_tangents(
    n, single_root, a, da, r, dr, d, dd, by_a, dby_a, by_r, dby_r, q, dq
):
    clear(by_a, n, n)
    clear(dby_a, n, n)
    for k in range(n - 1, -1, -1):
        row, drow = a[k, k + 1 : n], da[k, k + 1 : n]
        passed, dpassed = q[: n - k - 1], dq[: n - k - 1]
        for j in range(row.size):
            passed[j], dpassed[j] = 0.0, 0.0
        to_root = r[k] / d[k]
        dto_root = (dr[k] - to_root * dd[k]) / d[k]
        through_root, dthrough_root = 0.0, 0.0
        for i in range(k + 1, n):
            by, dby = by_a[i, k + 1 : n], dby_a[i, k + 1 : n]
            weight, dweight = a[i, k], da[i, k]
            total, dtotal = 0.0, 0.0
            for j in range(row.size):
                total += row[j] * by[j]
                dtotal += drow[j] * by[j] + row[j] * dby[j]
                passed[j] += weight * by[j]
                dpassed[j] += dweight * by[j] + weight * dby[j]
            total /= d[k]
            by_a[i, k] = total + to_root * by_r[i]
            dby_a[i, k] = (
                (dtotal - total * dd[k]) / d[k] + dto_root * by_r[i] + to_root * dby_r[i]
            )
            through_root += weight * by_r[i]
            dthrough_root += dweight * by_r[i] + weight * dby_r[i]
        through = to_root * through_root
        dthrough = dto_root * through_root + to_root * dthrough_root
        for j in range(row.size):
            share = row[j] / d[k]
            through += share * passed[j]
            dthrough += (drow[j] - share * dd[k]) / d[k] * passed[j] + share * dpassed[j]
        for j in range(row.size):
            value = (passed[j] - through + 1.0) / d[k]
            by_a[k, k + 1 + j] = value
            dby_a[k, k + 1 + j] = (dpassed[j] - dthrough - value * dd[k]) / d[k]
        if single_root and k < n - 1:
            value, change = through_root, dthrough_root
        elif single_root:
            value, change = 1.0, 0.0
        else:
            value, change = through_root - through + 1.0, dthrough_root - dthrough
        by_r[k] = value / d[k]
        dby_r[k] = (change - by_r[k] * dd[k]) / d[k]


@compiled
def hessian_products(
    first, last, weights, tangents, lengths, single_root, last_words, products, done, squares,
    rows, squares_of_tangents, rows_of_tangents,
):
    """Hessian of the log-partition function times a direction; tangents = weights * direction.

    ``done`` says where they are finite, and the marginals of each word sum to 1.
    ``squares``, ``squares_of_tangents`` (2, n, n) and ``rows``, ``rows_of_tangents`` (4, n) are
    work arrays.
    """
    a, by_a = squares[0], squares[1]
    da, dby_a = squares_of_tangents[0], squares_of_tangents[1]
    r, by_r, d, q = rows[0], rows[1], rows[2], rows[3]
    dr, dby_r, dd, dq = (
        rows_of_tangents[0], rows_of_tangents[1], rows_of_tangents[2], rows_of_tangents[3],
    )  # fmt: skip
    for b in range(first, last):
        n, top = lengths[b], last_words[b]
        load(weights[b], n, top, a, r)
        load(tangents[b], n, top, da, dr)
        _eliminate_tangents(n, single_root, a, da, r, dr, d, dd)
        good = True
        for k in range(n):
            good = good and 1e-290 < d[k] < 1e290
        if good:
            _derivatives_tangents(
                n, single_root, a, da, r, dr, d, dd, by_a, dby_a, by_r, dby_r, q, dq
            )
            for i in range(n):
                m, total = swapped(i, n, top), 0.0
                for j in range(n):
                    h = swapped(j, n, top)
                    by, change = by_a[i, j], dby_a[i, j]
                    if j == i:
                        by, change = by_r[i], dby_r[i]
                    products[b, h, m] = tangents[b, h, m] * by + weights[b, h, m] * change
                    total += weights[b, h, m] * by
                    good = good and abs(products[b, h, m]) < np.inf
                good = good and abs(total - 1.0) < TOLERANCE
        done[b] = good
