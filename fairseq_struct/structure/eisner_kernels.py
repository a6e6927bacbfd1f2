"""Compiled Eisner algorithm: the best projective tree, and exact samples, read off the charts.

The charts are those of ``projective_kernels``; for the best tree they hold scores, the maximum
takes the place of the sum and the sum that of the product.
"""

import numpy as np

from fairseq_struct.structure.compiled import compiled
from fairseq_struct.structure.projective_kernels import (
    LARGEST,
    LEFT,
    LEFT_ARC,
    LEFT_WEIGHT,
    PREFIX,
    RIGHT,
    RIGHT_ARC,
    RIGHT_WEIGHT,
    ROOT_WEIGHT,
    ROOTED,
    inside,
    load,
    raise_to_sums,
    raise_to_two_sums,
    within_range,
)
from fairseq_struct.structure.random_kernels import seeded, uniform


@compiled
def inside_maximum(n, lanes, weights, single_root, lengths, first, charts, vectors, best):
    """``projective_kernels.inside`` for scores, maximum and sum."""
    right, left = charts[RIGHT], charts[LEFT]
    right_arc, left_arc = charts[RIGHT_ARC], charts[LEFT_ARC]
    right[0, : n * lanes] = 0.0
    left[0, : n * lanes] = 0.0
    for d in range(1, n):
        columns = (n - d) * lanes
        between = right_arc[d, :columns]
        between[:] = -np.inf
        for k in range(0, d - 1, 2):
            start, next_start = (k + 1) * lanes, (k + 2) * lanes
            raise_to_two_sums(
                between,
                right[k, :columns], left[d - 1 - k, start : start + columns],
                right[k + 1, :columns], left[d - 2 - k, next_start : next_start + columns],
            )
        if d % 2 == 1:
            start = d * lanes
            raise_to_sums(between, right[d - 1, :columns], left[0, start : start + columns])
        for t in range(columns):
            left_arc[d, t] = between[t] + weights[LEFT_WEIGHT, d, t]
            right_arc[d, t] = between[t] + weights[RIGHT_WEIGHT, d, t]
        right[d, :columns] = -np.inf
        left[d, :columns] = -np.inf
        for k in range(0, d - 1, 2):
            start, next_start = k * lanes, (k + 1) * lanes
            raise_to_two_sums(
                right[d, :columns],
                right_arc[k + 1, :columns], right[d - 1 - k, next_start : next_start + columns],
                right_arc[k + 2, :columns],
                right[d - 2 - k, next_start + lanes : next_start + lanes + columns],
            )
            raise_to_two_sums(
                left[d, :columns],
                left[k, :columns], left_arc[d - k, start : start + columns],
                left[k + 1, :columns], left_arc[d - 1 - k, next_start : next_start + columns],
            )
        if d % 2 == 1:
            start = d * lanes
            raise_to_sums(
                right[d, :columns], right_arc[d, :columns], right[0, start : start + columns]
            )
            start -= lanes
            raise_to_sums(
                left[d, :columns], left[d - 1, :columns], left_arc[1, start : start + columns]
            )
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    if single_root:
        for lane in range(lanes):
            own = lengths[first + lane]
            best[lane] = -np.inf
            for j in range(own):
                rooted[j, lane] = left[j, lane] + right[own - 1 - j, j * lanes + lane]
                best[lane] = max(best[lane], root[j, lane] + rooted[j, lane])
        return
    prefix[0] = 0.0
    for j in range(n):
        rooted[j] = -np.inf
        for k in range(j + 1):
            raise_to_sums(rooted[j], prefix[k], left[j - k, k * lanes : (k + 1) * lanes])
        rooted[j] += root[j]
        prefix[j + 1] = -np.inf
        for k in range(j + 1):
            raise_to_sums(prefix[j + 1], rooted[k], right[j - k, k * lanes : (k + 1) * lanes])
    for lane in range(lanes):
        best[lane] = prefix[lengths[first + lane], lane]


@compiled
def _pick(count, a, a_row, a_column, b, b_row, b_column, b_step, state):
    """An alternative out of ``count``: drawn in proportion to a * b, or the best of a + b.

    Alternative k pairs a[a_row + k, a_column + (0 or k)] with a b that lies one row lower for
    each k and ``b_step`` columns further; without a random state the best is taken.
    """
    chosen = 0
    if state.size == 0:
        best = -np.inf
        for k in range(count):
            value = a[a_row + k, a_column] + b[b_row - k, b_column + k * b_step]
            if value > best:
                best, chosen = value, k
        return chosen
    total = 0.0
    for k in range(count):
        total += a[a_row + k, a_column] * b[b_row - k, b_column + k * b_step]
    left = uniform(state) * total
    for k in range(count):
        weight = a[a_row + k, a_column] * b[b_row - k, b_column + k * b_step]
        if weight > 0.0:
            chosen = k
            left -= weight
            if left < 0.0:
                break
    return chosen


@compiled
def _push(stack, place, first_word, width, head_is_left):
    stack[place, 0] = first_word
    stack[place, 1] = width
    stack[place, 2] = head_is_left


@compiled
def decode(n, lanes, lane, single_root, charts, vectors, state, stack, heads):
    """Read a tree of one lane off the charts, top down; heads are 1-based, 0 is the root."""
    right, left = charts[RIGHT], charts[LEFT]
    right_arc, left_arc = charts[RIGHT_ARC], charts[LEFT_ARC]
    prefix, rooted, root = vectors[PREFIX], vectors[ROOTED], vectors[ROOT_WEIGHT]
    size = 0
    # Spans (first word, width, whether the head is on the left) that wait to be read.
    if single_root:
        top = _pick(n, rooted, 0, lane, root[::-1], root.shape[0] - 1, lane, 0, state)
        heads[top] = 0
        _push(stack, 0, 0, top, 0)
        _push(stack, 1, top, n - 1 - top, 1)
        size = 2
    else:
        rest = n
        while rest > 0:
            top = _pick(rest, rooted, 0, lane, right, rest - 1, lane, lanes, state)
            heads[top] = 0
            start = _pick(top + 1, prefix, 0, lane, left, top, lane, lanes, state)
            _push(stack, size, top, rest - 1 - top, 1)
            _push(stack, size + 1, start, top - start, 0)
            size += 2
            rest = start
    while size > 0:
        size -= 1
        i, d, head_is_left = stack[size, 0], stack[size, 1], stack[size, 2]
        if d == 0:
            continue
        column = i * lanes + lane
        if head_is_left:
            width = 1 + _pick(d, right_arc, 1, column, right, d - 1, column + lanes, lanes, state)
            heads[i + width] = i + 1
            _push(stack, size, i + width, d - width, 1)
            arc = i
        else:
            inner = _pick(d, left, 0, column, left_arc, d, column, lanes, state)
            heads[i + inner] = i + d + 1
            _push(stack, size, i, inner, 0)
            arc, width = i + inner, d - inner
        column = arc * lanes + lane
        split = _pick(width, right, 0, column, left, width - 1, column + lanes, lanes, state)
        _push(stack, size + 1, arc, split, 1)
        _push(stack, size + 2, arc + split + 1, width - 1 - split, 0)
        size += 3


@compiled
def best_trees(
    first, last, lanes, scores, lengths, single_root, best, heads, charts, spread
):
    """Eisner's algorithm: ``best`` (batch,) scores, -inf without a tree, and ``heads``.

    ``charts`` (4, n, n * lanes) and ``spread`` (2, n, n * lanes) are arrays to work in.
    """
    batch, size = scores.shape[0], scores.shape[1]
    highest = np.empty(lanes)
    stack = np.empty((3 * size + 3, 3), np.int64)
    no_state = np.empty(0, np.uint64)
    for group in range(first, last):
        start = group * lanes
        used = min(lanes, batch - start)
        vectors = np.empty((3, size + 1, used), charts.dtype)
        n = load(scores, lengths, start, used, -np.inf, spread, vectors[ROOT_WEIGHT])
        inside_maximum(n, used, spread, single_root, lengths, start, charts, vectors, highest)
        for lane in range(used):
            b = start + lane
            best[b] = highest[lane]
            if best[b] > -np.inf:
                decode(
                    lengths[b], used, lane, single_root, charts, vectors, no_state, stack, heads[b]
                )


@compiled
def samples(
    first, last, lanes, weights, lengths, single_root, seeds, heads, done, charts, spread
):
    """Exact samples, ``heads`` (count, batch, n), drawn from ``seeds`` (batch,).

    ``charts`` and ``spread`` as for :func:`best_trees`.
    """
    batch, size = weights.shape[0], weights.shape[1]
    partition = np.empty(lanes)
    within = np.empty(lanes, np.bool_)
    stack = np.empty((3 * size + 3, 3), np.int64)
    for group in range(first, last):
        start = group * lanes
        used = min(lanes, batch - start)
        vectors = np.empty((3, size + 1, used))
        n = load(weights, lengths, start, used, 0.0, spread, vectors[ROOT_WEIGHT])
        inside(n, used, spread, single_root, lengths, start, charts, vectors, partition)
        within_range(n, used, charts, lengths, start, within)
        for lane in range(used):
            b = start + lane
            done[b] = within[lane] and 0.0 < partition[lane] < LARGEST
            if done[b]:
                state = seeded(seeds[b])
                for count in range(heads.shape[0]):
                    decode(
                        lengths[b], used, lane, single_root, charts, vectors, state, stack,
                        heads[count, b],
                    )
