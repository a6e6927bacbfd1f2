"""Projective dependency trees in plain torch, vectorised over spans and batch (Eisner, 1996).

It is used on a GPU, for third and higher derivatives, and where scores leave the range that the
compiled kernels can handle. It is also the reference in tests of those kernels. All computation is
in the log domain.

Node 0 is the root, node i + 1 is word i. ``complete[h, e]`` stands for the trees over the nodes
from h to e with head h (e is on either side). ``incomplete[h, m]`` stands for those in which h is
the head of m. There are three sums over alternatives, for all spans of a width d at once:

    between(i, j)      over k: complete[i, k] + complete[j, k + 1]
    complete[i, j]     over k: incomplete[i, k] + complete[k, j]
    complete[j, i]     over k: incomplete[j, k] + complete[k, i]              (j = i + d)

:func:`log_partition` leaves derivatives of any order to autograd. :func:`first_order` and
:func:`second_order` compute them by hand, in a fraction of the time. There, ``normalise`` decides
the result: probabilities of the alternatives give the marginals, the best alternative gives the
best tree, and an alternative drawn by its probability gives an exact sample.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from fairseq_struct.structure.log_domain import FORBIDDEN, without_forbidden


def rows(chart: Tensor, offset: int, d: int) -> Tensor:
    """(batch, spans, d) view: span i's row starts i rows and i columns after that of span 0."""
    size = chart.size(1)
    shape, strides = (chart.size(0), size - d, d), (size * size, size + 1, 1)
    return chart.as_strided(shape, strides, chart.storage_offset() + offset)


def columns(chart: Tensor, offset: int, d: int) -> Tensor:
    """As :func:`rows`, but down columns."""
    size = chart.size(1)
    shape, strides = (chart.size(0), size - d, d), (size * size, size + 1, size)
    return chart.as_strided(shape, strides, chart.storage_offset() + offset)


def alternatives(complete: Tensor, incomplete: Tensor, d: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The pairs of views that the three sums add, for width d."""
    size = complete.size(1)
    yield rows(complete, 0, d), rows(complete, d * size + 1, d)
    yield rows(incomplete, 1, d), columns(complete, size + d, d)
    yield rows(incomplete, d * size, d), columns(complete, 0, d)


def with_root(above: Tensor) -> Tensor:
    """Arcs (batch, n + 1, n + 1) with the root in row 0; no arc leads to the root."""
    moved = torch.nn.functional.pad(above, (1, 0, 1, 0), value=FORBIDDEN)
    root = above.diagonal(0, 1, 2)
    return torch.cat([torch.nn.functional.pad(root, (1, 0))[:, None], moved[:, 1:]], 1)


def log_partition(scores: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Log of the sum over projective trees of exp(score), differentiable to any order.

    Args:
        scores: (batch, n, n) arc scores in float64, the root's on the diagonal.
        lengths: (batch,) words per sentence.
        single_root: whether the root has exactly one modifier.

    Returns:
        (batch,); below ``log_domain.NO_TREE`` where there is no tree.
    """
    arcs = with_root(without_forbidden(scores))
    complete, incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    for d in range(1, arcs.size(1)):
        sums = alternatives(complete, incomplete, d)
        a, b = next(sums)
        between = (a + b).logsumexp(-1)
        incomplete.diagonal(d, 1, 2).copy_(between + arcs.diagonal(d, 1, 2))
        incomplete.diagonal(-d, 1, 2).copy_(between + arcs.diagonal(-d, 1, 2))
        right, left = ((a + b).logsumexp(-1) for a, b in sums)
        complete.diagonal(d, 1, 2).copy_(right)
        complete.diagonal(-d, 1, 2).copy_(left)
    return _at_root(arcs, complete, lengths, single_root).logsumexp(-1)


def _at_root(arcs: Tensor, complete: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Alternatives (batch, k) for the sentence: the root's possible modifiers if single-root."""
    sentences = torch.arange(len(lengths), device=arcs.device)
    if not single_root:
        return complete[sentences, 0, lengths][:, None]
    ends = complete[sentences, 1:, lengths]
    words = torch.arange(1, arcs.size(1), device=arcs.device) <= lengths[:, None]
    return (arcs[:, 0, 1:] + complete[:, 1:, 1] + ends).masked_fill(~words, 2 * FORBIDDEN)


def probabilities(given: Tensor) -> tuple[Tensor, Tensor]:
    """logsumexp of the alternatives in the last dimension, and their probabilities."""
    weights = given.softmax(-1)
    return given.amax(-1) - weights.amax(-1).log(), weights


def best_one(given: Tensor) -> tuple[Tensor, Tensor]:
    """The highest alternative, and a one in its place (only one, also for ties)."""
    value, place = given.max(-1, keepdim=True)
    return value.squeeze(-1), torch.zeros_like(given).scatter_(-1, place, 1.0)


def one_drawn(generator: torch.Generator | None) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Function that returns logsumexp and a one at an alternative drawn by its probability."""

    def draw(given: Tensor) -> tuple[Tensor, Tensor]:
        value, weights = probabilities(given)
        flat = weights.flatten(0, -2)
        place = torch.multinomial(flat, 1, generator=generator)
        return value, torch.zeros_like(flat).scatter_(1, place, 1.0).view_as(given)

    return draw


@torch.no_grad()
def first_order(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    normalise: Callable[[Tensor], tuple[Tensor, Tensor]] = probabilities,
) -> tuple[Tensor, Tensor]:
    """Log-partition function (batch,) and marginals (batch, n, n), without autograd.

    With ``normalise=best_one``: scores and arcs of the best trees. With ``one_drawn``:
    log-partition function and arcs of a sample.
    """
    arcs = with_root(without_forbidden(scores))
    complete, incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    taken = []
    for d in range(1, arcs.size(1)):
        sums = alternatives(complete, incomplete, d)
        a, b = next(sums)
        between, weights = normalise(a + b)
        taken.append(weights)
        for side in (d, -d):
            incomplete.diagonal(side, 1, 2).copy_(between + arcs.diagonal(side, 1, 2))
        for side, (a, b) in zip((d, -d), sums, strict=True):
            value, weights = normalise(a + b)
            complete.diagonal(side, 1, 2).copy_(value)
            taken.append(weights)
    value, root = normalise(_at_root(arcs, complete, lengths, single_root))
    by_complete, by_incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    _start_backward(by_complete, root, lengths, single_root)
    for d in range(arcs.size(1) - 1, 0, -1):
        views = list(alternatives(by_complete, by_incomplete, d))
        for side, (a, b) in ((-d, views[2]), (d, views[1])):
            share = by_complete.diagonal(side, 1, 2).unsqueeze(-1) * taken.pop()
            a += share
            b += share
        by = by_incomplete.diagonal(d, 1, 2) + by_incomplete.diagonal(-d, 1, 2)
        share = by.unsqueeze(-1) * taken.pop()
        for view in views[0]:
            view += share
    return value, _without_root(by_incomplete, root, single_root)


def _start_backward(by_complete: Tensor, root: Tensor, lengths: Tensor, single_root: bool):
    sentences = torch.arange(len(lengths), device=root.device)
    if not single_root:
        by_complete[sentences, 0, lengths] = root[:, 0]
        return
    by_complete[:, 1:, 1] += root
    by_complete[sentences, 1:, lengths] += root


def _without_root(by_incomplete: Tensor, root: Tensor, single_root: bool) -> Tensor:
    arcs = by_incomplete[:, 1:, 1:].clone()
    arcs.diagonal(0, 1, 2).copy_(root if single_root else by_incomplete[:, 0, 1:])
    return arcs


@torch.no_grad()
def second_order(
    scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor
) -> Tensor:
    """Hessian of the log-partition function times a direction, (batch, n, n), without autograd.

    It is ``first_order`` on pairs of values and tangents. If alternatives have tangents a', their
    probabilities w have tangents w (a' - sum w a').
    """
    arcs = with_root(without_forbidden(scores))
    moves = with_root(direction.masked_fill(scores == -torch.inf, 0.0))
    moves[:, :, 0] = 0.0
    complete, incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    d_complete, d_incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    taken = []

    def normalise(given: Tensor, move: Tensor) -> tuple[Tensor, Tensor]:
        value, weights = probabilities(given)
        tangent = (weights * move).sum(-1)
        taken.append((weights, weights * (move - tangent.unsqueeze(-1))))
        return value, tangent

    for d in range(1, arcs.size(1)):
        sums = alternatives(complete, incomplete, d)
        d_sums = alternatives(d_complete, d_incomplete, d)
        (a, b), (da, db) = next(sums), next(d_sums)
        between, d_between = normalise(a + b, da + db)
        for side in (d, -d):
            incomplete.diagonal(side, 1, 2).copy_(between + arcs.diagonal(side, 1, 2))
            d_incomplete.diagonal(side, 1, 2).copy_(d_between + moves.diagonal(side, 1, 2))
        for side, (a, b), (da, db) in zip((d, -d), sums, d_sums, strict=True):
            value, tangent = normalise(a + b, da + db)
            complete.diagonal(side, 1, 2).copy_(value)
            d_complete.diagonal(side, 1, 2).copy_(tangent)
    normalise(
        _at_root(arcs, complete, lengths, single_root),
        _at_root(moves, d_complete, lengths, single_root),
    )
    root, d_root = taken.pop()
    by_complete, by_incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    dby_complete, dby_incomplete = torch.zeros_like(arcs), torch.zeros_like(arcs)
    _start_backward(by_complete, root, lengths, single_root)
    _start_backward(dby_complete, d_root, lengths, single_root)

    def pass_on(by: Tensor, dby: Tensor, views: tuple, d_views: tuple):
        weights, d_weights = taken.pop()
        share = by.unsqueeze(-1) * weights
        d_share = dby.unsqueeze(-1) * weights + by.unsqueeze(-1) * d_weights
        for view, d_view in zip(views, d_views, strict=True):
            view += share
            d_view += d_share

    for d in range(arcs.size(1) - 1, 0, -1):
        views = list(alternatives(by_complete, by_incomplete, d))
        d_views = list(alternatives(dby_complete, dby_incomplete, d))
        for side, which in ((-d, 2), (d, 1)):
            by, dby = (chart.diagonal(side, 1, 2) for chart in (by_complete, dby_complete))
            pass_on(by, dby, views[which], d_views[which])
        by, dby = (
            chart.diagonal(d, 1, 2) + chart.diagonal(-d, 1, 2)
            for chart in (by_incomplete, dby_incomplete)
        )
        pass_on(by, dby, views[0], d_views[0])
    return _without_root(dby_incomplete, d_root, single_root)
