"""Active sets of trees, a row for each sentence, and searches that make them grow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fairseq_struct.structure.compiled import Space, array, run, threads_for

# Sentences that go side by side.
BLOCK = 32

# Of the Cholesky factors of a block, so that it needs 64 MB at most where that is possible.
MOST_NUMBERS = 2**23


@dataclass
class ActiveSets:
    """Trees (batch, room, n) as heads, their weights (batch, room), and how many (batch,)."""

    trees: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, trees: Tensor, weights: Tensor, sizes: Tensor) -> "ActiveSets":
        """Copies of tensors."""
        copies = (array(trees, np.int64).copy(), array(weights).copy())
        return cls(*copies, array(sizes, np.int64).copy())

    def rows(self, which: np.ndarray) -> "ActiveSets":
        """Copies of some sentences' sets."""
        return ActiveSets(self.trees[which], self.weights[which], self.sizes[which])

    def put(self, which: np.ndarray, sets: "ActiveSets"):
        """Set the rows of some sentences."""
        self.make_room(sets.trees.shape[1])
        self.trees[which], self.weights[which], self.sizes[which] = (
            sets.trees, sets.weights, sets.sizes,
        )  # fmt: skip

    def make_room(self, room: int):
        """For so many trees, if there is not more room already."""
        missing = room - self.trees.shape[1]
        if missing > 0:
            self.trees = np.pad(self.trees, ((0, 0), (0, missing), (0, 0)))
            self.weights = np.pad(self.weights, ((0, 0), (0, missing)))


def search(
    kernel: Callable,
    sets: ActiveSets,
    by_sentence: Sequence[np.ndarray],
    options: tuple,
    spaces: Callable[[int, int], Sequence[Space]],
    scale: int = 1,
):
    """Run a kernel that adds to ``sets``, with more room for the sentences that ask for it.

    Args:
        kernel: called as ``kernel(first, last, block, scores, lengths, rooms, *others, *options,
            trees, weights, sizes, full, factors, numbers, *spaces)``, ``factors`` (block, room,
            room) and ``numbers`` (2 + block, room) being arrays to work in.
        sets: changed in place.
        by_sentence: scores (batch, n, n), lengths (batch,) and ``others``, arrays with a row for
            each sentence, which are changed in place.
        options: further arguments.
        spaces: of the size of the longest sentence and of a block.
        scale: of the room for trees; little of it takes less memory.
    """
    scores, lengths, *others = by_sentence
    batch, n, _ = scores.shape
    # How much room a sentence has depends on its own length, so that its search takes the same way
    # in every batch. It never fills the last limit: fewer trees are affinely independent.
    rooms = np.maximum(scale * (4 * lengths + 40), sets.sizes + 40)
    rooms = np.minimum(rooms, lengths**2 - lengths + 3)
    rooms = np.maximum(rooms, sets.sizes + 1)
    sets.make_room(int(rooms.max(initial=1)))
    room = sets.trees.shape[1]
    full = np.zeros(batch, np.bool_)
    steps = 50.0 * lengths.astype(np.float64) ** 3
    share = -(-batch // threads_for(steps.sum()))
    block = max(1, min(BLOCK, share, MOST_NUMBERS // room**2))
    steps = np.pad(steps, (0, -batch % block))
    run(
        kernel, steps.reshape(-1, block).sum(1), block, scores, lengths, rooms, *others, *options,
        sets.trees, sets.weights, sets.sizes, full,
        workspace=(Space((block, room, room)), Space((2 + block, room)), *spaces(n, block)),
    )  # fmt: skip
    left = full.nonzero()[0]
    if len(left) > 0:
        rest, rows = sets.rows(left), [values[left] for values in by_sentence]
        search(kernel, rest, rows, options, spaces, 4 * scale)
        sets.put(left, rest)
        for values, changed in zip(by_sentence, rows, strict=True):
            values[left] = changed


def charts(n: int, block: int, dtype: type = np.float64) -> tuple[Space, ...]:
    """What the search for best projective trees works in: charts, scores spread out, vectors."""
    lanes = n * block
    return (
        Space((4, n, lanes), dtype), Space((2, n, lanes), dtype), Space((3, n + 1, block), dtype),
    )  # fmt: skip


def search_spaces(n: int, block: int) -> tuple[Space, ...]:
    """What else searches for best trees work in.

    Lengths and numbers of sentences (2, block), scores of best trees (block,), whether there is
    one (block,), heads (block, n), a stack and no random state; and what
    ``spanning_tree_kernels.arborescence`` needs.
    """
    return (
        Space((2, block), np.int64), Space((block,)), Space((block,), np.bool_),
        Space((block, n), np.int64), Space((3 * n + 3, 3), np.int64), Space((0,), np.uint64),
        *arborescence_spaces(n),
    )  # fmt: skip


def arborescence_spaces(n: int) -> tuple[Space, ...]:
    """What ``spanning_tree_kernels.arborescence`` works in."""
    square = n + 1, n + 1
    return (
        Space(square), Space((3, *square), np.int64), Space((10, 2 * n + 1), np.int64),
        Space((n + 1,), np.bool_),
    )  # fmt: skip
