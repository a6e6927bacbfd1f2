"""Growing active sets of trees: copies, rows, capacity, and searches that need more of it."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from fairseq_struct.structure.dependency.sparsemap.active_set_kernels import ActiveSets, Algebra
from fairseq_struct.structure.kernels.compiled import Space, array, run, threads_for

# Number of sentences processed in parallel lanes.
BLOCK = 32

# Size of a block's Cholesky factors: 64 MB at most, where possible.
MOST_NUMBERS = 2**23


def active_sets(trees: Tensor, weights: Tensor, sizes: Tensor) -> ActiveSets:
    """Active sets from copies of tensors."""
    copies = array(trees, np.int64).copy(), array(weights).copy()
    return ActiveSets(*copies, array(sizes, np.int64).copy())


def no_trees(batch: int, n: int) -> ActiveSets:
    """Empty sets, without room for trees."""
    trees = np.zeros((batch, 0, n), np.int64)
    return ActiveSets(trees, np.zeros((batch, 0)), np.zeros(batch, np.int64))


def rows_of(sets: ActiveSets, which: np.ndarray) -> ActiveSets:
    """Copies of some sentences' sets."""
    return ActiveSets(*(values[which] for values in sets))


def with_rows(sets: ActiveSets, which: np.ndarray, rows: ActiveSets) -> ActiveSets:
    """``sets`` with the sentences ``which`` replaced by ``rows``."""
    sets = _with_room(sets, rows.trees.shape[1])
    for values, own in zip(sets, rows, strict=True):
        values[which] = own
    return sets


def _with_room(sets: ActiveSets, room: int) -> ActiveSets:
    """``sets`` with room for at least ``room`` trees."""
    missing = room - sets.trees.shape[1]
    if missing <= 0:
        return sets
    trees = np.pad(sets.trees, ((0, 0), (0, missing), (0, 0)))
    return ActiveSets(trees, np.pad(sets.weights, ((0, 0), (0, missing))), sets.sizes)


def search(
    verb: Callable,
    sets: ActiveSets,
    rows: Sequence[np.ndarray],
    spaces: Callable[[int, int], Sequence],
    scale: int = 1,
) -> ActiveSets:
    """Run a function of ``groups`` that adds trees to sets; enlarge the sets that need more room.

    Args:
        verb: called as ``verb(first, last, block, (rooms, full), rows, sets, algebra, *spaces)``:
            ``rooms`` (batch,) is the capacity for trees, ``full`` (batch,) marks the sentences that
            need more, ``algebra`` is an :class:`.active_set_kernels.Algebra` of work arrays.
        sets: the sets to start from; they may be changed.
        rows: scores (batch, n, n), lengths (batch,) and others, arrays with a row for each
            sentence; changed in place.
        spaces: function of n (words of the longest sentence) and the block size that returns the
            further work arrays.
        scale: factor of the capacity for trees; a small one takes less memory.

    Returns:
        The sets, with their unused room.
    """
    scores, lengths, *_ = rows
    batch, n, _ = scores.shape
    # A sentence's room depends on its own length only, so that its search is the same in every
    # batch. It never reaches the last limit: fewer trees are affinely independent.
    rooms = np.maximum(scale * (4 * lengths + 40), sets.sizes + 40)
    rooms = np.minimum(rooms, lengths**2 - lengths + 3)
    rooms = np.maximum(rooms, sets.sizes + 1)
    sets = _with_room(sets, int(rooms.max(initial=1)))
    room = sets.trees.shape[1]
    full = np.zeros(batch, np.bool_)
    steps = 50.0 * lengths.astype(np.float64) ** 3
    share = -(-batch // threads_for(steps.sum()))
    block = max(1, min(BLOCK, share, MOST_NUMBERS // room**2))
    steps = np.pad(steps, (0, -batch % block)).reshape(-1, block).sum(1)
    row, square = Space((room,)), Space((block, room, room))
    algebra = Algebra(square, Space((block, room)), row, row)
    run(
        verb, steps, block, (rooms, full), rows, sets, workspace=(algebra, *spaces(n, block))
    )
    left = full.nonzero()[0]
    if len(left) > 0:
        again = [values[left] for values in rows]
        rest = search(verb, rows_of(sets, left), again, spaces, 4 * scale)
        sets = with_rows(sets, left, rest)
        for values, changed in zip(rows, again, strict=True):
            values[left] = changed
    return sets
