"""Finite scores for forbidden arcs, for sums over trees in the log domain.

Differences of -inf would be NaN. ``FORBIDDEN`` replaces -inf. Its exp is 0 next to that of any
other score: other scores are at least ``LOWEST``, and each word's best score is 0.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

# A score that is further below the best one of the same word counts as this far below it.
LOWEST = -1e12

FORBIDDEN = -1e15

# A sum below this contains a score that stands for -inf: there is no tree. (A sum above it
# contains LOWEST at most as often as a sentence has words.)
NO_TREE = FORBIDDEN / 2


def without_forbidden(scores: Tensor) -> Tensor:
    """Scores with ``FORBIDDEN`` in place of -inf."""
    return scores.clamp_min(FORBIDDEN)


def no_tree(sums: Tensor) -> Tensor:
    """Which sums over trees, (batch,), are of sentences without a tree."""
    return sums < NO_TREE


def as_sums(sums: Tensor) -> Tensor:
    """The sums, -inf where there is no tree."""
    return sums.masked_fill(no_tree(sums), -torch.inf)


def one_by_one(which: Tensor, lengths: Tensor) -> Iterator[tuple[slice, int]]:
    """Slice and length of each sentence in ``which``: for sums that a batch must not change.

    Few sentences need the log domain on a CPU. In a batch, torch would add in another order.
    """
    for b in which.tolist():
        yield slice(b, b + 1), int(lengths[b])
