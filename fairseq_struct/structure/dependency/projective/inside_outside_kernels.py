"""Compiled inference over projective dependency trees: Eisner's algorithm, inside and outside.

A chart holds every span of words: rows are widths, columns are first words. With weights w, the
entries for a span of the words i .. i + d are (Eisner, 1996; sums and products of a semiring)

    between[d, i]          = sum_{k < d}       right[k, i] * left[d - 1 - k, i + k + 1]
    right_arc[d, i]        = between[d, i] * w(i -> i + d)
    left_arc[d, i]         = between[d, i] * w(i + d -> i)
    right[d, i] (head i)   = sum_{1 <= k <= d} right_arc[k, i] * right[d - k, i + k]
    left[d, i] (head i + d) = sum_{k < d}      left[k, i] * left_arc[d - k, i + k]

For the root, ``prefix[j]`` covers the first j words. ``rooted[j]`` covers the first j + 1 words if
j is the root's last modifier, without j's right modifiers:

    rooted[j]     = w(root -> j) * sum_{k <= j} prefix[k] * left[j - k, k]
    prefix[j + 1] =                sum_{k <= j} rooted[k] * right[j - k, k]

For a fixed d and k these run along rows. To make rows long, several sentences, called lanes, share
a chart: column ``i * lanes + lane``. Sentences shorter than the chart have padding of weight 0,
which does not affect their own spans.

Sums are in probability space: the caller shifts the scores so that the weights of one word have a
moderate size. If numbers still leave the range of float64, the sentence is marked as not done.
"""

import numpy as np

from fairseq_struct.structure.kernels.compiled import compiled, inner

RIGHT, LEFT, RIGHT_ARC, LEFT_ARC = 0, 1, 2, 3
BETWEEN = RIGHT_ARC  # its sums are first stored there
RIGHT_WEIGHT, LEFT_WEIGHT = 0, 1
PREFIX, ROOTED, ROOT_WEIGHT = 0, 1, 2

# A larger inside or outside weight could hide an underflow on the other side.
LARGEST = 1e150

# The marginals of one word may sum to 1 up to this error.
TOLERANCE = 1e-9


@inner
def parts_of(kind, d):
    """Terms of ``add_splits`` for spans of width d: charts a and b, rows in them, and shift.

    Args:
        kind: BETWEEN, RIGHT or LEFT.
        d: 1 or more.
    """
    if kind == RIGHT:
        return RIGHT_ARC, 1, RIGHT, d - 1, 1
    if kind == LEFT:
        return LEFT, 0, LEFT_ARC, d, 0
    return RIGHT, 0, LEFT, d - 1, 1


@inner
def add_splits(target, a, a_row, b, b_row, shift, lanes, splits):
    """target[t] = sum_{k < splits} a[a_row + k, t] * b[b_row - k, (shift + k) * lanes + t]."""
    columns, odd = target.size, splits % 2
    x, y = a[a_row, :columns], b[b_row, shift * lanes : shift * lanes + columns]
    for t in range(columns):
        target[t] = x[t] * y[t] if odd == 1 else 0.0
    # Two terms at once: fewer passes through memory.
    for k in range(odd, splits, 2):
        start, next_start = (shift + k) * lanes, (shift + k + 1) * lanes
        x, y = a[a_row + k, :columns], b[b_row - k, start : start + columns]
        v, w = a[a_row + k + 1, :columns], b[b_row - k - 1, next_start : next_start + columns]
        for t in range(columns):
            target[t] += x[t] * y[t] + v[t] * w[t]


@inner
def pass_to_splits(by, a, by_a, a_row, b, by_b, b_row, shift, lanes, splits):
    """Backward pass of :func:`add_splits`: adds to ``by_a`` and ``by_b`` from ``by``."""
    columns = by.size
    for k in range(splits):
        start = (shift + k) * lanes
        x, y = a[a_row + k, :columns], b[b_row - k, start : start + columns]
        by_x, by_y = by_a[a_row + k, :columns], by_b[b_row - k, start : start + columns]
        for t in range(columns):
            by_x[t] += by[t] * y[t]
            by_y[t] += by[t] * x[t]


@compiled
def load(values, lengths, first, lanes, padding, weights, root):
    """Copy sentences first .. first + lanes - 1 to the lanes; return the longest length."""
    n = 0
    for lane in range(lanes):
        n = max(n, lengths[first + lane])
    for h in range(n):
        for lane in range(lanes):
            row = values[first + lane, h]
            within = lengths[first + lane] if h < lengths[first + lane] else 0
            for m in range(h):
                value = row[m] if m < within else padding
                weights[LEFT_WEIGHT, h - m, m * lanes + lane] = value
            root[h, lane] = row[h] if h < within else padding
            for m in range(h + 1, n):
                value = row[m] if m < within else padding
                weights[RIGHT_WEIGHT, m - h, h * lanes + lane] = value
    return n


@compiled
def inside(n, lanes, weights, single_root, lengths, first, charts, vectors, partition):
    """Fill the charts and, lane by lane, ``partition``: the sum of all trees' weights."""
    for t in range(n * lanes):
        charts[RIGHT, 0, t] = charts[LEFT, 0, t] = 1.0
    for d in range(1, n):
        columns = (n - d) * lanes
        for kind in (BETWEEN, LEFT, RIGHT):
            a, a_row, b, b_row, shift = parts_of(kind, d)
            target = charts[kind, d, :columns]
            add_splits(target, charts[a], a_row, charts[b], b_row, shift, lanes, d)
            for t in range(columns if kind == BETWEEN else 0):
                between = target[t]
                charts[LEFT_ARC, d, t] = between * weights[LEFT_WEIGHT, d, t]
                target[t] = between * weights[RIGHT_WEIGHT, d, t]
    right, left = charts[RIGHT], charts[LEFT]
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            partition[lane] = 0.0
            for j in range(own):
                rooted[j, lane] = left[j, lane] * right[own - 1 - j, j * lanes + lane]
                partition[lane] += root[j, lane] * rooted[j, lane]
        return
    zero = np.int64(0)  # with a plain 0, Numba would compile functions twice
    for lane in range(lanes):
        prefix[0, lane] = 1.0
    for j in range(n):
        add_splits(rooted[j, :lanes], prefix, zero, left, j, zero, lanes, j + 1)
        for lane in range(lanes):
            rooted[j, lane] *= root[j, lane]
        add_splits(prefix[j + 1, :lanes], rooted, zero, right, j, zero, lanes, j + 1)
    for lane in range(lanes):
        partition[lane] = prefix[lengths[first + lane], lane]


@compiled
def outside_of_root(
    n, lanes, single_root, lengths, first, charts, vectors, partition, outer, by
):
    """Derivatives of log-partition with respect to entries; marginals are entry * derivative.

    This part starts at the root: ``by`` gets the derivatives with respect to ``vectors``, ``outer``
    those with respect to the entries of ``charts`` next to the root. :func:`outside` does the rest.
    """
    for chart in range(4):
        for d in range(n):
            for t in range((n - d) * lanes):
                outer[chart, d, t] = 0.0
    for kind in range(3):
        for j in range(n + 1):
            for lane in range(lanes):
                by[kind, j, lane] = 0.0
    right, left, by_right, by_left = charts[RIGHT], charts[LEFT], outer[RIGHT], outer[LEFT]
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    by_prefix, by_rooted, by_root = by[PREFIX], by[ROOTED], by[ROOT_WEIGHT]
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            scale = 1.0 / partition[lane]
            for j in range(own):
                column = j * lanes + lane
                by_root[j, lane] = scale * rooted[j, lane]
                each = scale * root[j, lane]
                by_left[j, lane] += each * right[own - 1 - j, column]
                by_right[own - 1 - j, column] += each * left[j, lane]
        return
    zero = np.int64(0)  # as in ``inside``
    for lane in range(lanes):
        by_prefix[lengths[first + lane], lane] = 1.0 / partition[lane]
    for j in range(n - 1, -1, -1):
        by_own = by_rooted[j, :lanes]
        pass_to_splits(
            by_prefix[j + 1, :lanes], rooted, by_rooted, zero, right, by_right, j, zero, lanes,
            j + 1,
        )
        for lane in range(lanes):
            # rooted = root * total; the derivative with respect to the total is passed on.
            weight = root[j, lane]
            total = rooted[j, lane] / weight if weight > 0.0 else 0.0
            by_root[j, lane] = by_own[lane] * total
            by_own[lane] *= weight
        pass_to_splits(
            by_own, prefix, by_prefix, zero, left, by_left, j, zero, lanes, j + 1
        )


@compiled
def outside(n, lanes, weights, charts, outer):
    """Continue :func:`outside_of_root` down to single arcs."""
    for d in range(n - 1, 0, -1):
        columns = (n - d) * lanes
        for kind in (RIGHT, LEFT, BETWEEN):
            # RIGHT's row is passed on first; then it is reused for the derivatives of BETWEEN.
            own = outer[LEFT if kind == LEFT else RIGHT, d, :columns]
            for t in range(columns if kind == BETWEEN else 0):
                own[t] = (
                    outer[RIGHT_ARC, d, t] * weights[RIGHT_WEIGHT, d, t]
                    + outer[LEFT_ARC, d, t] * weights[LEFT_WEIGHT, d, t]
                )
            a, a_row, b, b_row, shift = parts_of(kind, d)
            pass_to_splits(
                own, charts[a], outer[a], a_row, charts[b], outer[b], b_row, shift, lanes, d
            )


@compiled
def unload_marginals(n, lanes, lengths, first, charts, vectors, outer, by, marginals, good):
    """Write the marginals of the lanes, sentences from ``first`` on, to ``marginals``.

    ``good`` (lanes,) stays true where the marginals of each word sum to 1.
    """
    for h in range(n):
        for lane in range(lanes):
            within = lengths[first + lane]
            if h >= within:
                continue
            row = marginals[first + lane, h]
            for m in range(h):
                d, t = h - m, m * lanes + lane
                row[m] = charts[LEFT_ARC, d, t] * outer[LEFT_ARC, d, t]
            row[h] = vectors[ROOT_WEIGHT, h, lane] * by[ROOT_WEIGHT, h, lane]
            for m in range(h + 1, within):
                d, t = m - h, h * lanes + lane
                row[m] = charts[RIGHT_ARC, d, t] * outer[RIGHT_ARC, d, t]
    totals = outer[RIGHT, 0, :n]  # an unused row
    for lane in range(lanes):
        own = lengths[first + lane]
        for m in range(own):
            totals[m] = 0.0
        for h in range(own):
            row = marginals[first + lane, h]
            for m in range(own):
                totals[m] += row[m]
        for m in range(own):
            good[lane] &= abs(totals[m] - 1.0) < TOLERANCE


@compiled
def within_range(n, lanes, charts, lengths, first, good):
    """``good`` (lanes,) stays true where no entry is NaN or too large."""
    excess = 0
    for chart in range(charts.shape[0]):
        for d in range(1, n):
            row = charts[chart, d, : (n - d) * lanes]
            for t in range(row.size):
                excess += 0 if row[t] < LARGEST else 1
    for lane in range(lanes):
        own = lengths[first + lane] if excess > 0 else 0
        for chart in range(charts.shape[0]):
            for d in range(1, own):
                for i in range(own - d):
                    good[lane] &= charts[chart, d, i * lanes + lane] < LARGEST
