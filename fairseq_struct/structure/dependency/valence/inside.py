"""Sums over projective trees with valence, in plain torch, vectorised over spans and batch.

A word's halves grow apart from each other (Eisner, 1996). A half reaches from its head to a fence,
the place between two words: fence k stands before word k. Row and column of the charts tell which
half it is: [i, e] with e > i is the right half of word i up to fence e, and [j + 1, s] with s <= j
the left half of word j from fence s.

    ready     trees in which the head goes on to one more modifier
    closed    trees in which the head has stopped
    joined    trees whose outermost modifier still lacks its outer half

Valence needs no dimension of its own: a half has a modifier if it is longer than its head. The
last modifier but one ends at a fence k, which is where the new one's inner half begins:

    joined[i, j + 1]   over k: ready[i, k] + attach(i -> j) + closed[j + 1, k]
    joined[j + 1, i]   over k: closed[i, k] + attach(j -> i) + ready[j + 1, k]
    open[i, e]         over m: joined[i, m + 1] + closed[m, e]
    open[j + 1, s]     over m: joined[j + 1, m] + closed[m + 1, s]

and ``ready`` and ``closed`` are ``open`` with the score of going on and of stopping.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.structure.dependency.valence.scores import GO, LEFT, NONE, RIGHT, SOME, STOP
from fairseq_struct.structure.log_domain import FORBIDDEN


def log_sum(alternatives: Tensor) -> Tensor:
    """Log of the sum of exp over the last dimension."""
    return alternatives.logsumexp(-1)


def best_of(alternatives: Tensor) -> Tensor:
    """The maximum over the last dimension; its gradient is a one for a single alternative."""
    return alternatives.max(-1).values


def inside(
    attach: Tensor,
    stop: Tensor,
    root: Tensor,
    lengths: Tensor,
    combine: Callable[[Tensor], Tensor] = log_sum,
) -> Tensor:
    """Log of the sum over trees with a single root of exp(score), or the best score.

    Args:
        attach: (batch, n, n, 2) finite scores in float64.
        stop: (batch, n, 2, 2, 2).
        root: (batch, n).
        lengths: (batch,) words per sentence.
        combine: :func:`log_sum` or :func:`best_of`.

    Returns:
        (batch,), differentiable; below ``log_domain.NO_TREE`` where there is no tree.
    """
    batch, n = root.shape
    ready, closed, joined = (root.new_zeros(batch, n + 1, n + 1) for _ in range(3))
    for decision, chart in ((GO, ready), (STOP, closed)):
        chart.diagonal(1, 1, 2).copy_(stop[:, :, RIGHT, NONE, decision])
        chart.diagonal(-1, 1, 2).copy_(stop[:, :, LEFT, NONE, decision])
    for d in range(1, n):
        near, far = _by_valence(attach, d)
        first = torch.cat([near, far.expand(-1, -1, d - 1)], 2)
        right = _rows(ready, 0, 1, d) + _rows(closed, d + 1, 1, d) + first
        near, far = _by_valence(attach, -d)
        last = torch.cat([far.expand(-1, -1, d - 1), near], 2)
        left = _rows(closed, 0, 1, d) + _rows(ready, d + 1, 1, d) + last
        joined.diagonal(d + 1, 1, 2).copy_(combine(right))
        joined.diagonal(-d - 1, 1, 2).copy_(combine(left))
        right = combine(_rows(joined, 0, 2, d) + _columns(closed, 1, d + 1, d))
        left = combine(_rows(joined, d + 1, 0, d) + _columns(closed, 1, 0, d))
        for decision, chart in ((GO, ready), (STOP, closed)):
            chart.diagonal(d + 1, 1, 2).copy_(right + stop[:, : n - d, RIGHT, SOME, decision])
            chart.diagonal(-d - 1, 1, 2).copy_(left + stop[:, d:, LEFT, SOME, decision])
    right_halves = closed[torch.arange(batch, device=root.device), :n, lengths]
    words = torch.arange(n, device=root.device) < lengths[:, None]
    at_root = root + closed[:, 1:, 0] + right_halves
    if n == 1:  # attachments have gradients, too, of zero
        at_root = at_root + 0 * attach.flatten(1).sum(1, keepdim=True)
    return combine(at_root.masked_fill(~words, 2 * FORBIDDEN))


def _by_valence(attach: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Scores (batch, spans, 1) of arcs over d words: to a first modifier, and to a later one."""
    arcs = attach.diagonal(d, 1, 2)
    return arcs[:, NONE, :, None], arcs[:, SOME, :, None]


def _rows(chart: Tensor, row: int, column: int, d: int) -> Tensor:
    """(batch, spans, d) view: d places of a row, for each span one row and column further on."""
    return _view(chart, row, column, d, 1)


def _columns(chart: Tensor, row: int, column: int, d: int) -> Tensor:
    """As :func:`_rows`, but down columns."""
    return _view(chart, row, column, d, chart.size(1))


def _view(chart: Tensor, row: int, column: int, d: int, step: int) -> Tensor:
    size = chart.size(1)
    shape, strides = (chart.size(0), size - 1 - d, d), (size * size, size + 1, step)
    return chart.as_strided(shape, strides, chart.storage_offset() + row * size + column)
