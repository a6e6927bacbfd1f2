"""Compiled inference over projective dependency trees: Eisner's algorithm, inside and outside.

A chart holds every span of words, in rows by width and in columns by first word. With weights w,
a span of the words i .. i + d has (Eisner, 1996), products and sums being those of a semiring,

    between[d, i]          = sum_{k < d}       right[k, i] * left[d - 1 - k, i + k + 1]
    right_arc[d, i]        = between[d, i] * w(i -> i + d)
    left_arc[d, i]         = between[d, i] * w(i + d -> i)
    right[d, i] (head i)   = sum_{1 <= k <= d} right_arc[k, i] * right[d - k, i + k]
    left[d, i] (head i + d) = sum_{k < d}      left[k, i] * left_arc[d - k, i + k]

and the root, ``prefix[j]`` for the first j words and ``rooted[j]`` for the first j + 1 words
without j's right modifiers, j being the root's last modifier,

    rooted[j]     = w(root -> j) * sum_{k <= j} prefix[k] * left[j - k, k]
    prefix[j + 1] =                sum_{k <= j} rooted[k] * right[j - k, k]

For a fixed d and k these run along rows. So that the rows are long, several sentences, called
lanes, share a chart: column ``i * lanes + lane``. Sentences shorter than the chart have padding
of weight 0, which reaches none of their own spans.

Sums are taken in probability space: the caller shifts the scores so that the weights of one word
have a sensible size. Where numbers leave the range of float64 all the same, the sentence is
marked as not done.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled

RIGHT, LEFT, RIGHT_ARC, LEFT_ARC = 0, 1, 2, 3
RIGHT_WEIGHT, LEFT_WEIGHT = 0, 1
PREFIX, ROOTED, ROOT_WEIGHT = 0, 1, 2

# Weights beyond this, inside or outside, could hide what underflowed on the other side.
LARGEST = 1e150

# How far the marginals of one word may be from summing to 1.
TOLERANCE = 1e-9


@compiled
def add_products(target, a, b):
    """target += a * b, elementwise."""
    for t in range(target.size):
        target[t] += a[t] * b[t]


@compiled
def add_two_products(target, a, b, c, d):
    """target += a * b + c * d, elementwise: one way through memory less than one by one."""
    for t in range(target.size):
        target[t] += a[t] * b[t] + c[t] * d[t]


@compiled
def add_products_twice(target, other, by, a, b):
    """target += by * a and other += by * b, elementwise."""
    for t in range(by.size):
        target[t] += by[t] * a[t]
        other[t] += by[t] * b[t]


@compiled
def raise_to_sums(target, a, b):
    """target = max(target, a + b), elementwise."""
    for t in range(target.size):
        value = a[t] + b[t]
        target[t] = value if value > target[t] else target[t]


@compiled
def raise_to_two_sums(target, a, b, c, d):
    """target = max(target, a + b, c + d), elementwise."""
    for t in range(target.size):
        first, second = a[t] + b[t], c[t] + d[t]
        first = first if first > second else second
        target[t] = first if first > target[t] else target[t]


@compiled
def load(values, lengths, first, lanes, padding, weights, root):
    """Spread sentences first .. first + lanes - 1 over the lanes; the longest one's length."""
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
    right, left = charts[RIGHT], charts[LEFT]
    right_arc, left_arc = charts[RIGHT_ARC], charts[LEFT_ARC]
    right[0, : n * lanes] = 1.0
    left[0, : n * lanes] = 1.0
    for d in range(1, n):
        columns = (n - d) * lanes
        between = right_arc[d, :columns]
        between[:] = 0.0
        for k in range(0, d - 1, 2):
            start, next_start = (k + 1) * lanes, (k + 2) * lanes
            add_two_products(
                between,
                right[k, :columns], left[d - 1 - k, start : start + columns],
                right[k + 1, :columns], left[d - 2 - k, next_start : next_start + columns],
            )
        if d % 2 == 1:
            start = d * lanes
            add_products(between, right[d - 1, :columns], left[0, start : start + columns])
        for t in range(columns):
            left_arc[d, t] = between[t] * weights[LEFT_WEIGHT, d, t]
            right_arc[d, t] = between[t] * weights[RIGHT_WEIGHT, d, t]
        right[d, :columns] = 0.0
        left[d, :columns] = 0.0
        for k in range(0, d - 1, 2):
            start, next_start = k * lanes, (k + 1) * lanes
            add_two_products(
                right[d, :columns],
                right_arc[k + 1, :columns], right[d - 1 - k, next_start : next_start + columns],
                right_arc[k + 2, :columns],
                right[d - 2 - k, next_start + lanes : next_start + lanes + columns],
            )
            add_two_products(
                left[d, :columns],
                left[k, :columns], left_arc[d - k, start : start + columns],
                left[k + 1, :columns], left_arc[d - 1 - k, next_start : next_start + columns],
            )
        if d % 2 == 1:
            start = d * lanes
            add_products(
                right[d, :columns], right_arc[d, :columns], right[0, start : start + columns]
            )
            start -= lanes
            add_products(
                left[d, :columns], left[d - 1, :columns], left_arc[1, start : start + columns]
            )
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            partition[lane] = 0.0
            for j in range(own):
                rooted[j, lane] = left[j, lane] * right[own - 1 - j, j * lanes + lane]
                partition[lane] += root[j, lane] * rooted[j, lane]
        return
    prefix[0] = 1.0
    for j in range(n):
        rooted[j] = 0.0
        for k in range(j + 1):
            add_products(rooted[j], prefix[k], left[j - k, k * lanes : (k + 1) * lanes])
        rooted[j] *= root[j]
        prefix[j + 1] = 0.0
        for k in range(j + 1):
            add_products(prefix[j + 1], rooted[k], right[j - k, k * lanes : (k + 1) * lanes])
    for lane in range(lanes):
        partition[lane] = prefix[lengths[first + lane], lane]


@compiled
def outside(n, lanes, weights, single_root, lengths, first, charts, vectors, partition, outer, by):
    """Derivatives of log-partition by the charts' entries; marginals are entry * derivative.

    Args:
        outer, by: the derivatives by ``charts`` and by ``vectors``, to be filled.
    """
    right, left = charts[RIGHT], charts[LEFT]
    right_arc, left_arc = charts[RIGHT_ARC], charts[LEFT_ARC]
    by_right, by_left = outer[RIGHT], outer[LEFT]
    by_right_arc, by_left_arc = outer[RIGHT_ARC], outer[LEFT_ARC]
    for chart in range(4):
        for d in range(n):
            outer[chart, d, : (n - d) * lanes] = 0.0
    by[:, : n + 1] = 0.0
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
    else:
        for lane in range(lanes):
            by_prefix[lengths[first + lane], lane] = 1.0 / partition[lane]
        for j in range(n - 1, -1, -1):
            for k in range(j + 1):
                here = slice(k * lanes, (k + 1) * lanes)
                add_products_twice(
                    by_rooted[k], by_right[j - k, here], by_prefix[j + 1], right[j - k, here],
                    rooted[k],
                )
            for lane in range(lanes):
                # rooted = root * total, and what is passed on is the derivative by the total.
                weight = root[j, lane]
                total = rooted[j, lane] / weight if weight > 0.0 else 0.0
                by_root[j, lane] = by_rooted[j, lane] * total
            by_total = by_rooted[j] * root[j]
            for k in range(j + 1):
                here = slice(k * lanes, (k + 1) * lanes)
                add_products_twice(
                    by_prefix[k], by_left[j - k, here], by_total, left[j - k, here], prefix[k]
                )
    for d in range(n - 1, 0, -1):
        columns = (n - d) * lanes
        for k in range(1, d + 1):
            there = slice(k * lanes, k * lanes + columns)
            add_products_twice(
                by_right_arc[k, :columns], by_right[d - k, there], by_right[d, :columns],
                right[d - k, there], right_arc[k, :columns],
            )
        for k in range(d):
            there = slice(k * lanes, k * lanes + columns)
            add_products_twice(
                by_left[k, :columns], by_left_arc[d - k, there], by_left[d, :columns],
                left_arc[d - k, there], left[k, :columns],
            )
        by_between = by_right[d, :columns]  # not needed any more
        for t in range(columns):
            by_between[t] = (
                by_right_arc[d, t] * weights[RIGHT_WEIGHT, d, t]
                + by_left_arc[d, t] * weights[LEFT_WEIGHT, d, t]
            )
        for k in range(d):
            there = slice((k + 1) * lanes, (k + 1) * lanes + columns)
            add_products_twice(
                by_right[k, :columns], by_left[d - 1 - k, there], by_between,
                left[d - 1 - k, there], right[k, :columns],
            )


@compiled
def unload_marginals(n, lanes, lengths, first, charts, vectors, outer, by, marginals):
    """Put the marginals of sentences ``first`` and so on, lane by lane, into ``marginals``."""
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


@compiled
def sum_to_one(n, marginals):
    """Whether the marginals of every word's heads sum to 1."""
    totals = np.zeros(n)
    for h in range(n):
        row = marginals[h]
        for m in range(n):
            totals[m] += row[m]
    good = True
    for m in range(n):
        good = good and abs(totals[m] - 1.0) < TOLERANCE
    return good


@compiled
def within_range(n, lanes, charts, lengths, first, within):
    """Note in ``within`` (lanes,) whose entries are all numbers, and none too large."""
    excess = 0
    for chart in range(charts.shape[0]):
        for d in range(1, n):
            row = charts[chart, d, : (n - d) * lanes]
            for t in range(row.size):
                excess += 0 if row[t] < LARGEST else 1
    within[:lanes] = True
    if excess == 0:
        return
    for lane in range(lanes):
        own = lengths[first + lane]
        for chart in range(charts.shape[0]):
            for d in range(1, own):
                for i in range(own - d):
                    if not charts[chart, d, i * lanes + lane] < LARGEST:
                        within[lane] = False


@compiled
def log_partition_and_marginals(
    first, last, lanes, weights, lengths, single_root, want_marginals, log_partition, marginals,
    done, charts, outer, spread,
):
    """Inside and outside algorithm over groups ``first`` .. ``last - 1`` of sentences.

    Args:
        weights: (batch, n, n) exp of shifted scores.
        log_partition, marginals, done: results; ``done`` says where they are exact.
        charts, outer, spread: (4 or 2, n, n * lanes) arrays to work in.
    """
    batch, size = weights.shape[0], weights.shape[1]
    partition = np.empty(lanes)
    within, within_too = np.empty(lanes, np.bool_), np.empty(lanes, np.bool_)
    for group in range(first, last):
        start = group * lanes
        used = min(lanes, batch - start)
        vectors, by = np.empty((3, size + 1, used)), np.empty((3, size + 1, used))
        n = load(weights, lengths, start, used, 0.0, spread, vectors[ROOT_WEIGHT])
        inside(n, used, spread, single_root, lengths, start, charts, vectors, partition)
        for lane in range(used):
            log_partition[start + lane] = np.log(partition[lane])
        if want_marginals:
            outside(
                n, used, spread, single_root, lengths, start, charts, vectors, partition, outer,
                by,
            )
        within_range(n, used, charts, lengths, start, within)
        if want_marginals:
            within_range(n, used, outer, lengths, start, within_too)
            unload_marginals(n, used, lengths, start, charts, vectors, outer, by, marginals)
        for lane in range(used):
            b = start + lane
            done[b] = within[lane] and 0.0 < partition[lane] < LARGEST
            if want_marginals and done[b]:
                done[b] = within_too[lane] and sum_to_one(lengths[b], marginals[b])
