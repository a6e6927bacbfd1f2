"""Projection of points near the middle of a marginal polytope, where SparseMAP takes too long.

The active set method looks for the few structures whose mean is the projection. Of a point near
the marginals of flat scores, as SPIGOT-CE projects it, that would be thousands. But if the polytope
contains the point's projection onto the affine space that the polytope lies in, this is the
projection; and the following shows whether it does.

Let mu be the marginals of p, V the directions of the affine space, P the projection onto V,
delta = P move, and Cov a = delta, where Cov is the covariance of the structures' parts under p.
Then q(z) = p(z) (1 - <a, z> + <a, mu>) sums to one and has mean mu - delta. If q is nowhere below
0, that is if max_z <a, z> <= 1 + <a, mu>, mu - delta is a mean of structures.
"""

import torch
from torch import Tensor

# Conjugate gradients stop here, relative to delta: so close to mu - delta is a mean of structures.
TOLERANCE = 1e-6
MOST_PRODUCTS = 60


def project_near_marginals(structure, scores: Tensor, target: Tensor, possible: Tensor) -> Tensor:
    """SparseMAP(target), for targets near the marginals of ``scores``.

    Args:
        structure: makes a distribution over dependency trees of scores, or over several of them.
        scores: (..., n, n).
        target: (..., n, n), what is projected; 0 where no arc is possible.
        possible: (..., n, n) booleans, which arcs are.

    Returns:
        (..., n, n): exact within 1e-6 of the way from the marginals where the argument above
        holds; elsewhere what the active set method finds.
    """
    with torch.enable_grad():
        given = scores.detach().double().requires_grad_()
        distribution = structure(given)
        marginals = distribution.marginals
    mu = marginals.detach()
    delta = _onto_directions(mu - target.double(), mu > 0, distribution.single_root)
    hopeful = (mu - delta >= 0).flatten(-2).all(-1)
    solution, solved = _conjugate_gradients(
        lambda a: torch.autograd.grad(marginals, given, a, retain_graph=True)[0],
        delta * hopeful[..., None, None], (mu * (1 - mu)).clamp_min(1e-12),
    )  # fmt: skip
    best = structure(solution.masked_fill(~possible, -torch.inf)).argmax
    inside = hopeful & solved & (_dot(solution, best) - _dot(solution, mu) <= 1)
    shown, inner = inside[..., None, None], (mu - delta).to(target.dtype)
    if inside.all():
        return inner
    # A tree is its own projection, found at once: it stands in for what is known already.
    left = torch.where(shown, best.to(target.dtype), target).masked_fill(~possible, -torch.inf)
    return torch.where(shown, inner, structure(left).sparsemap)


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum((-2, -1))


def _onto_directions(move: Tensor, possible: Tensor, single_root: bool) -> Tensor:
    """P: every word keeps one head and, if there is a single root, the root one modifier."""

    def centred(values: Tensor) -> Tensor:
        values = values * possible
        mean = values.sum(-2, keepdim=True) / possible.sum(-2, keepdim=True).clamp_min(1)
        return (values - mean) * possible

    result = centred(move)
    if single_root:
        roots = torch.eye(move.size(-1), dtype=move.dtype, device=move.device)
        roots = centred(roots.expand_as(move))
        share = _dot(result, roots) / _dot(roots, roots).clamp_min(1e-30)
        result = result - share[..., None, None] * roots
    return result


def _conjugate_gradients(product, wanted: Tensor, diagonal: Tensor) -> tuple[Tensor, Tensor]:
    """a with product(a) = wanted, and for which structures it has been found."""
    solution, rest = torch.zeros_like(wanted), wanted
    size = _dot(wanted, wanted).sqrt()
    solved = size == 0
    preconditioned = rest / diagonal
    direction, before = preconditioned, _dot(rest, preconditioned)
    for _ in range(MOST_PRODUCTS):
        if solved.all():
            break
        image = product(direction)
        curvature = _dot(direction, image)
        step = torch.where(solved | (curvature <= 0), 0.0, before / curvature)[..., None, None]
        solution = solution + step * direction
        rest = rest - step * image
        solved = solved | (_dot(rest, rest).sqrt() <= TOLERANCE * size)
        preconditioned = rest / diagonal
        now = _dot(rest, preconditioned)
        again = torch.where(before > 0, now / before, 0.0)[..., None, None]
        direction, before = preconditioned + again * direction, now
    return solution, solved
