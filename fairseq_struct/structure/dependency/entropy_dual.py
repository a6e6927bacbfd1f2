"""The largest entropy of a distribution over trees that has given marginals.

H_M(mu) = min over scores t of log Z(t) - <t, mu>, the dual of the maximum in Mihaylova's thesis,
eq. 5.18. This is convex: its gradient is the difference of the marginals for the scores t and mu,
its Hessian the covariance of the arcs. Newton's method solves it, with steps by conjugate
gradients. It starts from scores whose marginals are near mu, found by scaling.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.structure.conjugate_gradients import conjugate_gradients, dot, norm
from fairseq_struct.structure.dependency.scaling import scaled

# |marginals - mu| at which a sentence is done, unless mu's precision tells no more than a larger
# difference, and how much of it a Newton step may leave.
ACCURACY, REST = 1e-9, 0.1
MOST_STEPS, MOST_PRODUCTS, MOST_HALVINGS = 40, 150, 30


def largest_entropy(trees: Callable, marginals: Tensor) -> Tensor:
    """H_M, (batch,), in nats and float64, without gradients.

    It is exact to about 1e-9, or to the rounding of marginals in lower precision than float64. For
    marginals of no distribution, whose minimum is -inf, it is some number if a tree has only arcs
    whose marginals are above 0.

    Args:
        trees: makes :class:`.DependencyTrees` of scores (batch, n, n), without the arcs whose
            marginal is 0.
        marginals: (batch, n, n) mu; any precision.

    Raises:
        ValueError: a sentence has no tree of arcs whose marginals are above 0.
    """
    with torch.inference_mode(False):
        mu = marginals.detach().double()
        scores = torch.where(mu > 0, mu, 1.0).log()
        with torch.no_grad():
            mu = _summing_to_one(mu, trees(scores).single_root)
            scores = scaled(trees, scores, mu)
        rounding = torch.finfo(marginals.dtype).eps if marginals.is_floating_point() else 0.0
        precise = (rounding * norm(mu)).clamp_min(ACCURACY)
        for _ in range(MOST_STEPS):
            scores, done = _newton_step(trees, scores, mu, precise)
            if done.all():
                break
        with torch.no_grad():
            return _dual(trees, scores, mu)


def _dual(trees, scores: Tensor, mu: Tensor) -> Tensor:
    return trees(scores).log_partition - dot(scores, mu)


def _summing_to_one(mu: Tensor, single_root: bool) -> Tensor:
    """Without the rounding of lower precisions, along which the dual problem has no curvature."""
    if not single_root:
        return mu / mu.sum(1, keepdim=True).masked_fill(~(mu > 0).any(1, keepdim=True), 1.0)
    roots = mu.diagonal(dim1=1, dim2=2)
    roots = roots / roots.sum(1, keepdim=True)
    arcs = mu - torch.diag_embed(mu.diagonal(dim1=1, dim2=2))
    total = arcs.sum(1)
    shares = torch.where(total > 0, (1 - roots) / total.masked_fill(total == 0, 1.0), 0.0)
    return arcs * shares[:, None] + torch.diag_embed(roots)


def _newton_step(
    trees, scores: Tensor, mu: Tensor, precise: Tensor
) -> tuple[Tensor, Tensor]:
    """Better scores, and for which sentences (batch,) there are none."""
    with torch.enable_grad():
        given = scores.detach().requires_grad_()
        marginals = trees(given).marginals
    found = marginals.detach()
    away = found - mu
    done = norm(away) <= precise
    step, _ = conjugate_gradients(
        lambda a: torch.autograd.grad(marginals, given, a, retain_graph=True)[0],
        away, (found * (1 - found)).clamp_min(1e-12),
        torch.where(done, torch.inf, REST * norm(away)), MOST_PRODUCTS,
    )  # fmt: skip
    with torch.no_grad():
        slope, before = dot(away, step), _dual(trees, scores, mu)
        done = done | (slope <= 0)
        size, lower = torch.ones_like(slope), done
        for _ in range(MOST_HALVINGS):
            after = _dual(trees, scores - size[:, None, None] * step, mu)
            lower = lower | (after <= before - size * slope / 10)
            if lower.all():
                break
            size = torch.where(lower, size, size / 2)
        done = done | ~lower  # what is left is rounding
        return scores - torch.where(done, 0.0, size)[:, None, None] * step, done
