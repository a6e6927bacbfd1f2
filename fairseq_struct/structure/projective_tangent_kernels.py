"""Compiled second order of projective inference: how marginals move with the scores.

The inside and outside algorithms of ``projective_kernels`` on dual numbers: every quantity is a
pair of a value and a tangent. With weights w = exp(s) and
a direction v the tangent of w is w v, and the tangents that come out for the marginals are the
Hessian of the log-partition function times v.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.projective_kernels import (
    LEFT,
    LEFT_ARC,
    LEFT_WEIGHT,
    PREFIX,
    RIGHT,
    RIGHT_ARC,
    RIGHT_WEIGHT,
    ROOT_WEIGHT,
    ROOTED,
    load,
    sum_to_one,
    unload_marginals,
    within_range,
)

# Partition functions from here on have squares that are not denormal.
SMALLEST_PARTITION = 1e-140


@compiled
def _row(dual, kind, row, start, stop):
    """Value and tangent of a part of one row of charts or vectors."""
    return dual[0][kind, row, start:stop], dual[1][kind, row, start:stop]


@compiled
def _add_products(target, a, b):
    """target += a * b, each a pair of value and tangent."""
    t, dt = target
    x, dx = a
    y, dy = b
    for i in range(t.size):
        t[i] += x[i] * y[i]
        dt[i] += dx[i] * y[i] + x[i] * dy[i]


@compiled
def _add_products_twice(target, other, by, a, b):
    """target += by * a and other += by * b."""
    t, dt = target
    o, do = other
    z, dz = by
    x, dx = a
    y, dy = b
    for i in range(z.size):
        t[i] += z[i] * x[i]
        dt[i] += dz[i] * x[i] + z[i] * dx[i]
        o[i] += z[i] * y[i]
        do[i] += dz[i] * y[i] + z[i] * dy[i]


@compiled
def _set_product(target, a, b):
    """target = a * b; target may be a."""
    t, dt = target
    x, dx = a
    y, dy = b
    for i in range(t.size):
        dt[i] = dx[i] * y[i] + x[i] * dy[i]
        t[i] = x[i] * y[i]


@compiled
def _clear(target):
    target[0][:] = 0.0
    target[1][:] = 0.0


@compiled
def _inside(n, lanes, weights, single_root, lengths, first, charts, vectors, partition):
    """``projective_kernels.inside`` on pairs of values and tangents."""
    for chart in (RIGHT, LEFT):
        charts[0][chart, 0, : n * lanes] = 1.0
        charts[1][chart, 0, : n * lanes] = 0.0
    for d in range(1, n):
        columns = (n - d) * lanes
        right, left = _row(charts, RIGHT, d, 0, columns), _row(charts, LEFT, d, 0, columns)
        right_arc = _row(charts, RIGHT_ARC, d, 0, columns)
        between = right_arc
        _clear(between)
        for k in range(d):
            start = (k + 1) * lanes
            _add_products(
                between,
                _row(charts, RIGHT, k, 0, columns),
                _row(charts, LEFT, d - 1 - k, start, start + columns),
            )
        _set_product(
            _row(charts, LEFT_ARC, d, 0, columns), between,
            _row(weights, LEFT_WEIGHT, d, 0, columns),
        )
        _set_product(right_arc, between, _row(weights, RIGHT_WEIGHT, d, 0, columns))
        _clear(right)
        _clear(left)
        for k in range(1, d + 1):
            start = k * lanes
            _add_products(
                right,
                _row(charts, RIGHT_ARC, k, 0, columns),
                _row(charts, RIGHT, d - k, start, start + columns),
            )
        for k in range(d):
            start = k * lanes
            _add_products(
                left,
                _row(charts, LEFT, k, 0, columns),
                _row(charts, LEFT_ARC, d - k, start, start + columns),
            )
    _clear(partition)
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            total = partition[0][lane : lane + 1], partition[1][lane : lane + 1]
            for j in range(own):
                column = j * lanes + lane
                rooted = _row(vectors, ROOTED, j, lane, lane + 1)
                _set_product(
                    rooted,
                    _row(charts, LEFT, j, lane, lane + 1),
                    _row(charts, RIGHT, own - 1 - j, column, column + 1),
                )
                _add_products(total, _row(vectors, ROOT_WEIGHT, j, lane, lane + 1), rooted)
        return
    vectors[0][PREFIX, 0] = 1.0
    vectors[1][PREFIX, 0] = 0.0
    for j in range(n):
        rooted = _row(vectors, ROOTED, j, 0, lanes)
        _clear(rooted)
        for k in range(j + 1):
            _add_products(
                rooted,
                _row(vectors, PREFIX, k, 0, lanes),
                _row(charts, LEFT, j - k, k * lanes, (k + 1) * lanes),
            )
        _set_product(rooted, rooted, _row(vectors, ROOT_WEIGHT, j, 0, lanes))
        prefix = _row(vectors, PREFIX, j + 1, 0, lanes)
        _clear(prefix)
        for k in range(j + 1):
            _add_products(
                prefix,
                _row(vectors, ROOTED, k, 0, lanes),
                _row(charts, RIGHT, j - k, k * lanes, (k + 1) * lanes),
            )
    for lane in range(lanes):
        partition[0][lane] = vectors[0][PREFIX, lengths[first + lane], lane]
        partition[1][lane] = vectors[1][PREFIX, lengths[first + lane], lane]


@compiled
def _outside_root(n, lanes, single_root, lengths, first, charts, vectors, partition, outer, by):
    """The root's part of ``_outside``: all that depends on ``vectors``."""
    scale = np.empty(lanes), np.empty(lanes)  # 1 / partition
    for lane in range(lanes):
        scale[0][lane] = 1.0 / partition[0][lane]
        scale[1][lane] = -partition[1][lane] / partition[0][lane] ** 2
    if single_root:
        each = np.empty(1), np.empty(1)
        for lane in range(lanes):
            own = lengths[first + lane]
            by_partition = scale[0][lane : lane + 1], scale[1][lane : lane + 1]
            for j in range(own):
                column = j * lanes + lane
                root = _row(vectors, ROOT_WEIGHT, j, lane, lane + 1)
                rooted = _row(vectors, ROOTED, j, lane, lane + 1)
                _set_product(_row(by, ROOT_WEIGHT, j, lane, lane + 1), by_partition, rooted)
                _set_product(each, by_partition, root)
                _add_products_twice(
                    _row(outer, LEFT, j, lane, lane + 1),
                    _row(outer, RIGHT, own - 1 - j, column, column + 1),
                    each,
                    _row(charts, RIGHT, own - 1 - j, column, column + 1),
                    _row(charts, LEFT, j, lane, lane + 1),
                )
        return
    for lane in range(lanes):
        by[0][PREFIX, lengths[first + lane], lane] = scale[0][lane]
        by[1][PREFIX, lengths[first + lane], lane] = scale[1][lane]
    total = np.empty(lanes), np.empty(lanes)
    for j in range(n - 1, -1, -1):
        for k in range(j + 1):
            start, stop = k * lanes, (k + 1) * lanes
            _add_products_twice(
                _row(by, ROOTED, k, 0, lanes),
                _row(outer, RIGHT, j - k, start, stop),
                _row(by, PREFIX, j + 1, 0, lanes),
                _row(charts, RIGHT, j - k, start, stop),
                _row(vectors, ROOTED, k, 0, lanes),
            )
        by_rooted = _row(by, ROOTED, j, 0, lanes)
        _clear(total)
        for k in range(j + 1):
            _add_products(
                total,
                _row(vectors, PREFIX, k, 0, lanes),
                _row(charts, LEFT, j - k, k * lanes, (k + 1) * lanes),
            )
        _set_product(_row(by, ROOT_WEIGHT, j, 0, lanes), by_rooted, total)
        _set_product(total, by_rooted, _row(vectors, ROOT_WEIGHT, j, 0, lanes))
        for k in range(j + 1):
            start, stop = k * lanes, (k + 1) * lanes
            _add_products_twice(
                _row(by, PREFIX, k, 0, lanes),
                _row(outer, LEFT, j - k, start, stop),
                total,
                _row(charts, LEFT, j - k, start, stop),
                _row(vectors, PREFIX, k, 0, lanes),
            )


@compiled
def _outside(n, lanes, weights, single_root, lengths, first, charts, vectors, partition, outer, by):
    """``projective_kernels.outside`` on pairs of values and tangents."""
    for part in range(2):
        outer[part][:, :n, : n * lanes] = 0.0
        by[part][:, : n + 1] = 0.0
    _outside_root(n, lanes, single_root, lengths, first, charts, vectors, partition, outer, by)
    for d in range(n - 1, 0, -1):
        columns = (n - d) * lanes
        by_right, by_left = _row(outer, RIGHT, d, 0, columns), _row(outer, LEFT, d, 0, columns)
        for k in range(1, d + 1):
            start, stop = k * lanes, k * lanes + columns
            _add_products_twice(
                _row(outer, RIGHT_ARC, k, 0, columns),
                _row(outer, RIGHT, d - k, start, stop),
                by_right,
                _row(charts, RIGHT, d - k, start, stop),
                _row(charts, RIGHT_ARC, k, 0, columns),
            )
        for k in range(d):
            start, stop = k * lanes, k * lanes + columns
            _add_products_twice(
                _row(outer, LEFT, k, 0, columns),
                _row(outer, LEFT_ARC, d - k, start, stop),
                by_left,
                _row(charts, LEFT_ARC, d - k, start, stop),
                _row(charts, LEFT, k, 0, columns),
            )
        by_between = by_right  # which is not needed any more
        _set_product(
            by_between,
            _row(outer, RIGHT_ARC, d, 0, columns),
            _row(weights, RIGHT_WEIGHT, d, 0, columns),
        )
        _add_products(
            by_between,
            _row(outer, LEFT_ARC, d, 0, columns),
            _row(weights, LEFT_WEIGHT, d, 0, columns),
        )
        for k in range(d):
            start, stop = (k + 1) * lanes, (k + 1) * lanes + columns
            _add_products_twice(
                _row(outer, RIGHT, k, 0, columns),
                _row(outer, LEFT, d - 1 - k, start, stop),
                by_between,
                _row(charts, LEFT, d - 1 - k, start, stop),
                _row(charts, RIGHT, k, 0, columns),
            )


@compiled
def _tangent_of_marginal(entries, derivatives, kind, row, column):
    return (
        entries[1][kind, row, column] * derivatives[0][kind, row, column]
        + entries[0][kind, row, column] * derivatives[1][kind, row, column]
    )


@compiled
def _unload(own, lanes, lane, charts, vectors, outer, by, product):
    """Tangents of the marginals, entry * derivative, of one lane."""
    for i in range(own):
        product[i, i] = _tangent_of_marginal(vectors, by, ROOT_WEIGHT, i, lane)
        for d in range(1, own - i):
            column = i * lanes + lane
            product[i, i + d] = _tangent_of_marginal(charts, outer, RIGHT_ARC, d, column)
            product[i + d, i] = _tangent_of_marginal(charts, outer, LEFT_ARC, d, column)


@compiled
def hessian_products(
    first, last, lanes, weights, tangents, lengths, single_root, products, done,
    charts_value, charts_tangent, outer_value, outer_tangent, spread_value, spread_tangent,
):
    """Hessian of the log-partition function times a direction, sentence by sentence.

    Args:
        weights: (batch, n, n) exp of shifted scores.
        tangents: (batch, n, n) weights times direction.
        products, done: results; ``done`` says where they are exact.
        charts_value and so on: (4 or 2, n, n * lanes) arrays to work in.
    """
    batch, size = weights.shape[0], weights.shape[1]
    charts, outer = (charts_value, charts_tangent), (outer_value, outer_tangent)
    spread = spread_value, spread_tangent
    within, within_too = np.empty(lanes, np.bool_), np.empty(lanes, np.bool_)
    for group in range(first, last):
        start = group * lanes
        used = min(lanes, batch - start)
        few = (3, size + 1, used)
        vectors, by = (np.empty(few), np.empty(few)), (np.empty(few), np.empty(few))
        partition = np.empty(used), np.empty(used)
        n = load(weights, lengths, start, used, 0.0, spread[0], vectors[0][ROOT_WEIGHT])
        load(tangents, lengths, start, used, 0.0, spread[1], vectors[1][ROOT_WEIGHT])
        _inside(n, used, spread, single_root, lengths, start, charts, vectors, partition)
        _outside(
            n, used, spread, single_root, lengths, start, charts, vectors, partition, outer, by
        )
        within_range(n, used, charts[0], lengths, start, within)
        within_range(n, used, outer[0], lengths, start, within_too)
        # The products' place serves for the marginals until they have been looked at.
        unload_marginals(
            n, used, lengths, start, charts[0], vectors[0], outer[0], by[0], products
        )
        for lane in range(used):
            b = start + lane
            own = lengths[b]
            done[b] = within[lane] and within_too[lane] and sum_to_one(own, products[b])
            # Its square is divided by.
            done[b] &= partition[0][lane] > SMALLEST_PARTITION
            if done[b]:
                _unload(own, used, lane, charts, vectors, outer, by, products[b])
                done[b] = np.isfinite(products[b, :own, :own].sum())
