"""Compiled Eisner algorithm: the best projective tree, and exact samples, read off the charts.

The charts are as in ``inside_outside_kernels``. For the best tree they hold scores: the maximum
replaces the sum, and the sum replaces the product.
"""

import numpy as np

from fairseq_struct.structure.dependency.projective.inside_outside_kernels import (
    BETWEEN,
    LEFT,
    LEFT_ARC,
    LEFT_WEIGHT,
    PREFIX,
    RIGHT,
    RIGHT_WEIGHT,
    ROOT_WEIGHT,
    ROOTED,
    parts_of,
)
from fairseq_struct.structure.kernels.compiled import compiled, inner
from fairseq_struct.structure.kernels.random_kernels import uniform


@inner
def best_splits(target, a, a_row, b, b_row, shift, lanes, splits):
    """``inside_outside_kernels.add_splits`` for scores, with maximum and sum."""
    columns, odd = target.size, splits % 2
    x, y = a[a_row, :columns], b[b_row, shift * lanes : shift * lanes + columns]
    for t in range(columns):
        target[t] = x[t] + y[t] if odd == 1 else -np.inf
    for k in range(odd, splits, 2):
        start, next_start = (shift + k) * lanes, (shift + k + 1) * lanes
        x, y = a[a_row + k, :columns], b[b_row - k, start : start + columns]
        v, w = a[a_row + k + 1, :columns], b[b_row - k - 1, next_start : next_start + columns]
        for t in range(columns):
            first, second = x[t] + y[t], v[t] + w[t]
            first = first if first > second else second
            target[t] = first if first > target[t] else target[t]


@compiled
def inside_maximum(n, lanes, weights, single_root, lengths, first, charts, vectors, best):
    """``inside_outside_kernels.inside`` for scores, with maximum and sum.

    One function with a flag would be as fast. But it would contain both variants in every
    precision, and take 1.5 times as long to compile at first use.
    """
    for t in range(n * lanes):
        charts[RIGHT, 0, t] = charts[LEFT, 0, t] = 0.0
    for d in range(1, n):
        columns = (n - d) * lanes
        for kind in (BETWEEN, LEFT, RIGHT):
            a, a_row, b, b_row, shift = parts_of(kind, d)
            target = charts[kind, d, :columns]
            best_splits(target, charts[a], a_row, charts[b], b_row, shift, lanes, d)
            for t in range(columns if kind == BETWEEN else 0):
                between = target[t]
                charts[LEFT_ARC, d, t] = between + weights[LEFT_WEIGHT, d, t]
                target[t] = between + weights[RIGHT_WEIGHT, d, t]
    right, left = charts[RIGHT], charts[LEFT]
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            best[lane] = -np.inf
            for j in range(own):
                rooted[j, lane] = left[j, lane] + right[own - 1 - j, j * lanes + lane]
                best[lane] = max(best[lane], root[j, lane] + rooted[j, lane])
        return
    zero = np.int64(0)  # as in ``inside_outside_kernels.inside``
    for lane in range(lanes):
        prefix[0, lane] = 0.0
    for j in range(n):
        best_splits(rooted[j, :lanes], prefix, zero, left, j, zero, lanes, j + 1)
        for lane in range(lanes):
            rooted[j, lane] += root[j, lane]
        best_splits(prefix[j + 1, :lanes], rooted, zero, right, j, zero, lanes, j + 1)
    for lane in range(lanes):
        best[lane] = prefix[lengths[first + lane], lane]


@inner
def _pick(count, a, a_row, a_column, b, b_row, b_step, b_column, lanes, state):
    """One of ``count`` alternatives: drawn in proportion to a * b, or the best by a + b.

    Alternative k pairs a[a_row + k, a_column] with b[b_row + k * b_step, b_column + k * lanes].
    Without a random state, the best one is taken.
    """
    chosen = 0
    if state.size == 0:
        best = -np.inf
        for k in range(count):
            value = a[a_row + k, a_column] + b[b_row + k * b_step, b_column + k * lanes]
            if value > best:
                best, chosen = value, k
        return chosen
    total = 0.0
    for k in range(count):
        total += a[a_row + k, a_column] * b[b_row + k * b_step, b_column + k * lanes]
    left = uniform(state) * total
    for k in range(count):
        weight = a[a_row + k, a_column] * b[b_row + k * b_step, b_column + k * lanes]
        if weight > 0.0:
            chosen = k
            left -= weight
            if left < 0.0:
                break
    return chosen


@inner
def _push(stack, size, kind, first_word, width):
    stack[size, 0], stack[size, 1], stack[size, 2] = kind, first_word, width
    return size + 1


@inner
def decode(n, lanes, lane, single_root, charts, vectors, state, stack, heads):
    """Read a tree of one lane off the charts, top down; heads are 1-based, 0 is the root."""
    size, rest = np.int64(0), n  # as in ``inside_outside_kernels.inside``, here and below
    down, up, none = np.int64(-1), np.int64(1), np.int64(0)
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    while rest > 0:
        start = none
        if single_root:
            top = _pick(n, rooted, none, lane, root, none, up, lane, none, state)
        else:
            top = _pick(
                rest, rooted, none, lane, charts[RIGHT], rest - 1, down, lane, lanes, state
            )
            start = _pick(
                top + 1, prefix, none, lane, charts[LEFT], top, down, lane, lanes, state
            )
        heads[top] = 0
        size = _push(stack, size, RIGHT, top, rest - 1 - top)
        size = _push(stack, size, LEFT, start, top - start)
        rest = start
    while size > 0:
        size -= 1
        kind, i, d = stack[size, 0], stack[size, 1], stack[size, 2]
        if d == 0:
            continue
        a, a_row, b, b_row, shift = parts_of(kind, d)
        column = i * lanes + lane
        split = _pick(
            d, charts[a], a_row, column, charts[b], b_row, down, column + shift * lanes, lanes,
            state,
        )
        if kind == RIGHT:
            at = i + 1 + split
            heads[at] = i + 1
            size = _push(stack, size, BETWEEN, i, split + 1)
            size = _push(stack, size, RIGHT, at, d - 1 - split)
        elif kind == LEFT:
            heads[i + split] = i + d + 1
            size = _push(stack, size, LEFT, i, split)
            size = _push(stack, size, BETWEEN, i + split, d - split)
        else:
            size = _push(stack, size, RIGHT, i, split)
            size = _push(stack, size, LEFT, i + split + 1, d - 1 - split)


@compiled
def read_trees(
    lanes, single_root, lengths, first, good, charts, vectors, seeds, state, stack, heads
):
    """Read ``heads`` (count, batch, n) of the ``good`` lanes off the charts.

    Trees are drawn with ``seeds`` (batch,). Without a random state they are the best trees.
    """
    for lane in range(lanes):
        b = first + lane
        if good[lane]:
            if state.size > 0:
                state[0] = seeds[b]
            for count in range(heads.shape[0]):
                decode(
                    lengths[b], lanes, lane, single_root, charts, vectors, state, stack,
                    heads[count, b],
                )
