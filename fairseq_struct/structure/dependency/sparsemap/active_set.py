"""Active sets of trees that grow: copies, rows and room of them, and searches that ask for more."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from fairseq_struct.structure.compiled import Space, array, run, threads_for
from fairseq_struct.structure.dependency.sparsemap.active_set_kernels import ActiveSets, Algebra

# Sentences that go side by side.
BLOCK = 32

# Of the Cholesky factors of a block, so that it needs 64 MB at most where that is possible.
MOST_NUMBERS = 2**23


def active_sets(trees: Tensor, weights: Tensor, sizes: Tensor) -> ActiveSets:
    """Copies of tensors."""
    copies = array(trees, np.int64).copy(), array(weights).copy()
    return ActiveSets(*copies, array(sizes, np.int64).copy())


def no_trees(batch: int, n: int) -> ActiveSets:
    """Sets without trees, nor room for them."""
    trees = np.zeros((batch, 0, n), np.int64)
    return ActiveSets(trees, np.zeros((batch, 0)), np.zeros(batch, np.int64))


def rows_of(sets: ActiveSets, which: np.ndarray) -> ActiveSets:
    """Copies of some sentences' sets."""
    return ActiveSets(*(values[which] for values in sets))


def with_rows(sets: ActiveSets, which: np.ndarray, rows: ActiveSets) -> ActiveSets:
    """``sets`` with these rows in place of those of some sentences."""
    sets = _with_room(sets, rows.trees.shape[1])
    for values, own in zip(sets, rows, strict=True):
        values[which] = own
    return sets


def _with_room(sets: ActiveSets, room: int) -> ActiveSets:
    """For so many trees, if there is not more room already."""
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
    """Let a verb of ``groups`` add to sets, with more room for the sentences that ask for it.

    Args:
        verb: called as ``verb(first, last, block, (rooms, full), rows, sets, algebra, *spaces)``:
            (batch,) for how many trees there is room, (batch,) whether there was not enough, and
            :class:`.active_set_kernels.Algebra` to work in.
        sets: to begin with; they may be changed.
        rows: scores (batch, n, n), lengths (batch,) and others, arrays with a row for each
            sentence, which are changed in place.
        spaces: what else the verb works in, of the size of the longest sentence and of a block.
        scale: of the room for trees; little of it takes less memory.

    Returns:
        The sets, room included.
    """
    scores, lengths, *_ = rows
    batch, n, _ = scores.shape
    # How much room a sentence has depends on its own length, so that its search takes the same way
    # in every batch. It never fills the last limit: fewer trees are affinely independent.
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
