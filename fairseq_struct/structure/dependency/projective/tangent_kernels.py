"""Compiled second order of projective inference: derivatives of marginals.

These are the algorithms of ``inside_outside_kernels`` on dual numbers: every quantity is a pair of
a value and a tangent. With weights w = exp(s) and a direction v, the tangent of w is w v. The
resulting tangents of the marginals are the Hessian of the log-partition function times v.
Functions have the same names as in ``inside_outside_kernels``.
"""

import numpy as np

from fairseq_struct.structure.dependency.projective.inside_outside_kernels import (
    BETWEEN,
    LEFT,
    LEFT_ARC,
    LEFT_WEIGHT,
    PREFIX,
    RIGHT,
    RIGHT_ARC,
    RIGHT_WEIGHT,
    ROOT_WEIGHT,
    ROOTED,
    parts_of,
)
from fairseq_struct.structure.kernels.compiled import compiled, inner

# The square of a larger partition function is not denormal.
SMALLEST_PARTITION = 1e-140


@inner
def _add_splits(target, row, columns, a, a_row, b, b_row, shift, lanes, splits):
    """``add_splits`` into a row; all arguments are pairs of values and tangents."""
    t, dt = target[0][row, :columns], target[1][row, :columns]
    for i in range(columns):
        t[i], dt[i] = 0.0, 0.0
    for k in range(splits):
        start = (shift + k) * lanes
        x, dx = a[0][a_row + k, :columns], a[1][a_row + k, :columns]
        y = b[0][b_row - k, start : start + columns]
        dy = b[1][b_row - k, start : start + columns]
        for i in range(columns):
            t[i] += x[i] * y[i]
            dt[i] += dx[i] * y[i] + x[i] * dy[i]


@inner
def _pass_to_splits(by, row, columns, a, by_a, a_row, b, by_b, b_row, shift, lanes, splits):
    """``pass_to_splits`` from a row of ``by``, on pairs."""
    z, dz = by[0][row, :columns], by[1][row, :columns]
    for k in range(splits):
        start = (shift + k) * lanes
        x, dx = a[0][a_row + k, :columns], a[1][a_row + k, :columns]
        y = b[0][b_row - k, start : start + columns]
        dy = b[1][b_row - k, start : start + columns]
        by_x, dby_x = by_a[0][a_row + k, :columns], by_a[1][a_row + k, :columns]
        by_y = by_b[0][b_row - k, start : start + columns]
        dby_y = by_b[1][b_row - k, start : start + columns]
        for i in range(columns):
            by_x[i] += z[i] * y[i]
            dby_x[i] += dz[i] * y[i] + z[i] * dy[i]
            by_y[i] += z[i] * x[i]
            dby_y[i] += dz[i] * x[i] + z[i] * dx[i]


@compiled
def inside(n, lanes, weights, charts):
    """``inside`` on pairs of values and tangents, without the root's part."""
    values, tangents = charts
    for t in range(n * lanes):
        for side in (RIGHT, LEFT):
            values[side, 0, t], tangents[side, 0, t] = 1.0, 0.0
    for d in range(1, n):
        columns = (n - d) * lanes
        for kind in (BETWEEN, LEFT, RIGHT):
            a, a_row, b, b_row, shift = parts_of(kind, d)
            target = values[kind], tangents[kind]
            _add_splits(
                target, d, columns, (values[a], tangents[a]), a_row, (values[b], tangents[b]),
                b_row, shift, lanes, d,
            )
            for t in range(columns if kind == BETWEEN else 0):
                between, change = values[RIGHT_ARC, d, t], tangents[RIGHT_ARC, d, t]
                w, dw = weights[0][LEFT_WEIGHT, d, t], weights[1][LEFT_WEIGHT, d, t]
                values[LEFT_ARC, d, t] = between * w
                tangents[LEFT_ARC, d, t] = change * w + between * dw
                w, dw = weights[0][RIGHT_WEIGHT, d, t], weights[1][RIGHT_WEIGHT, d, t]
                values[RIGHT_ARC, d, t] = between * w
                tangents[RIGHT_ARC, d, t] = change * w + between * dw


@compiled
def inside_of_root(n, lanes, single_root, lengths, first, charts, vectors, partition):
    """The root's part of ``inside``, on pairs of values and tangents."""
    right, left = (charts[0][RIGHT], charts[1][RIGHT]), (charts[0][LEFT], charts[1][LEFT])
    values, tangents = vectors
    prefix, rooted = (values[PREFIX], tangents[PREFIX]), (values[ROOTED], tangents[ROOTED])
    root, droot = values[ROOT_WEIGHT], tangents[ROOT_WEIGHT]
    zero = np.int64(0)  # as in ``inside_outside_kernels.inside``
    if single_root:
        for lane in range(lanes):
            own, total, change = lengths[first + lane], 0.0, 0.0
            for j in range(own):
                x, dx = left[0][j, lane], left[1][j, lane]
                column = j * lanes + lane
                y, dy = right[0][own - 1 - j, column], right[1][own - 1 - j, column]
                z, dz = x * y, dx * y + x * dy
                rooted[0][j, lane], rooted[1][j, lane] = z, dz
                total += root[j, lane] * z
                change += droot[j, lane] * z + root[j, lane] * dz
            partition[0][lane], partition[1][lane] = total, change
        return
    for lane in range(lanes):
        prefix[0][0, lane], prefix[1][0, lane] = 1.0, 0.0
    for j in range(n):
        _add_splits(rooted, j, lanes, prefix, zero, left, j, zero, lanes, j + 1)
        for lane in range(lanes):
            total, change = rooted[0][j, lane], rooted[1][j, lane]
            rooted[0][j, lane] = total * root[j, lane]
            rooted[1][j, lane] = change * root[j, lane] + total * droot[j, lane]
        _add_splits(prefix, j + 1, lanes, rooted, zero, right, j, zero, lanes, j + 1)
    for lane in range(lanes):
        own = lengths[first + lane]
        partition[0][lane], partition[1][lane] = prefix[0][own, lane], prefix[1][own, lane]


@compiled
def outside_of_root(
    n, lanes, single_root, lengths, first, charts, vectors, partition, outer, by
):
    """``outside_of_root`` on pairs of values and tangents."""
    for part in range(2):
        for chart in range(4):
            for d in range(n):
                for t in range((n - d) * lanes):
                    outer[part][chart, d, t] = 0.0
        for kind in range(3):
            for j in range(n + 1):
                for lane in range(lanes):
                    by[part][kind, j, lane] = 0.0
    right, left = (charts[0][RIGHT], charts[1][RIGHT]), (charts[0][LEFT], charts[1][LEFT])
    by_right, by_left = (outer[0][RIGHT], outer[1][RIGHT]), (outer[0][LEFT], outer[1][LEFT])
    values, tangents = vectors
    prefix, rooted = (values[PREFIX], tangents[PREFIX]), (values[ROOTED], tangents[ROOTED])
    root, droot = values[ROOT_WEIGHT], tangents[ROOT_WEIGHT]
    by_prefix, by_rooted = (by[0][PREFIX], by[1][PREFIX]), (by[0][ROOTED], by[1][ROOTED])
    by_root, dby_root = by[0][ROOT_WEIGHT], by[1][ROOT_WEIGHT]
    zero = np.int64(0)  # as in ``inside_outside_kernels.inside``
    for lane in range(lanes):
        own = lengths[first + lane]
        scale = 1.0 / partition[0][lane]
        dscale = -partition[1][lane] * scale * scale
        by_prefix[0][own, lane], by_prefix[1][own, lane] = scale, dscale
        for j in range(own if single_root else 0):
            z, dz = rooted[0][j, lane], rooted[1][j, lane]
            by_root[j, lane], dby_root[j, lane] = scale * z, dscale * z + scale * dz
            each = scale * root[j, lane]
            change = dscale * root[j, lane] + scale * droot[j, lane]
            column = j * lanes + lane
            x, dx = left[0][j, lane], left[1][j, lane]
            y, dy = right[0][own - 1 - j, column], right[1][own - 1 - j, column]
            by_left[0][j, lane] += each * y
            by_left[1][j, lane] += change * y + each * dy
            by_right[0][own - 1 - j, column] += each * x
            by_right[1][own - 1 - j, column] += change * x + each * dx
    for j in range(-1 if single_root else n - 1, -1, -1):
        _pass_to_splits(
            by_prefix, j + 1, lanes, rooted, by_rooted, zero, right, by_right, j, zero, lanes,
            j + 1,
        )
        # rooted = root * total; the total goes into a free row of the vectors.
        _add_splits(prefix, n + 1, lanes, prefix, zero, left, j, zero, lanes, j + 1)
        for lane in range(lanes):
            total, dtotal = prefix[0][n + 1, lane], prefix[1][n + 1, lane]
            z, dz = by_rooted[0][j, lane], by_rooted[1][j, lane]
            by_root[j, lane], dby_root[j, lane] = z * total, dz * total + z * dtotal
            by_rooted[0][j, lane] = z * root[j, lane]
            by_rooted[1][j, lane] = dz * root[j, lane] + z * droot[j, lane]
        _pass_to_splits(
            by_rooted, j, lanes, prefix, by_prefix, zero, left, by_left, j, zero, lanes, j + 1
        )


@compiled
def outside(n, lanes, weights, charts, outer):
    """``outside`` on pairs of values and tangents."""
    values, tangents = charts
    outer_values, outer_tangents = outer
    for d in range(n - 1, 0, -1):
        columns = (n - d) * lanes
        for kind in (RIGHT, LEFT, BETWEEN):
            # RIGHT's row is passed on first; then it is reused for the derivatives of BETWEEN.
            own = LEFT if kind == LEFT else RIGHT
            for t in range(columns if kind == BETWEEN else 0):
                x, dx = outer_values[RIGHT_ARC, d, t], outer_tangents[RIGHT_ARC, d, t]
                y, dy = outer_values[LEFT_ARC, d, t], outer_tangents[LEFT_ARC, d, t]
                w, dw = weights[0][RIGHT_WEIGHT, d, t], weights[1][RIGHT_WEIGHT, d, t]
                v, dv = weights[0][LEFT_WEIGHT, d, t], weights[1][LEFT_WEIGHT, d, t]
                outer_values[RIGHT, d, t] = x * w + y * v
                outer_tangents[RIGHT, d, t] = dx * w + x * dw + dy * v + y * dv
            a, a_row, b, b_row, shift = parts_of(kind, d)
            _pass_to_splits(
                (outer_values[own], outer_tangents[own]), d, columns, (values[a], tangents[a]),
                (outer_values[a], outer_tangents[a]), a_row, (values[b], tangents[b]),
                (outer_values[b], outer_tangents[b]), b_row, shift, lanes, d,
            )


@inner
def _tangent_of_marginal(entries, derivatives, kind, row, column):
    return (
        entries[1][kind, row, column] * derivatives[0][kind, row, column]
        + entries[0][kind, row, column] * derivatives[1][kind, row, column]
    )


@compiled
def unload(n, lanes, lengths, first, charts, vectors, outer, by, partition, products, good):
    """Tangents of the marginals, entry * derivative, of the ``good`` lanes.

    ``good`` stays true where all tangents are finite and exact.
    """
    for lane in range(lanes):
        own, product = lengths[first + lane], products[first + lane]
        good[lane] &= partition[0][lane] > SMALLEST_PARTITION  # its square is a divisor
        for i in range(own if good[lane] else 0):
            product[i, i] = _tangent_of_marginal(vectors, by, ROOT_WEIGHT, i, lane)
            good[lane] &= abs(product[i, i]) < np.inf
            for d in range(1, own - i):
                column = i * lanes + lane
                product[i, i + d] = _tangent_of_marginal(charts, outer, RIGHT_ARC, d, column)
                product[i + d, i] = _tangent_of_marginal(charts, outer, LEFT_ARC, d, column)
                good[lane] &= abs(product[i, i + d]) + abs(product[i + d, i]) < np.inf
