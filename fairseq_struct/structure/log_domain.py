"""How forbidden arcs are written where sums over trees are taken in the log domain.

There -inf would make differences that are no numbers. It is replaced by ``FORBIDDEN``, so low that
its exp is 0 beside any other score: those are at least ``LOWEST``, and 0 is each word's best.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

# Scores further below the best one of the same word count as this far below it.
LOWEST = -1e12

FORBIDDEN = -1e15

# Sums below this contain a score that stands for -inf: there is no tree. (Those above contain at
# most as many LOWEST as a sentence has words.)
NO_TREE = FORBIDDEN / 2


def without_forbidden(scores: Tensor) -> Tensor:
    """Scores with ``FORBIDDEN`` in place of -inf."""
    return scores.clamp_min(FORBIDDEN)


def no_tree(sums: Tensor) -> Tensor:
    """Where sums over trees, (batch,), are those of no tree at all."""
    return sums < NO_TREE


def as_sums(sums: Tensor) -> Tensor:
    """The sums, -inf where there is no tree."""
    return sums.masked_fill(no_tree(sums), -torch.inf)


def one_by_one(which: Tensor, lengths: Tensor) -> Iterator[tuple[slice, int]]:
    """Where single sentences are, and their lengths: for sums that a batch must not change.

    Few sentences need the log domain on a CPU; in a batch of them torch would add in another order.
    """
    for b in which.tolist():
        yield slice(b, b + 1), int(lengths[b])
