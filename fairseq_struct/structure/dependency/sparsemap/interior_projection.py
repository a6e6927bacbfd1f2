"""Projection of points near the middle of a marginal polytope, where SparseMAP takes too long.

The active set method searches for the few structures whose mean is the projection. For a point near
the marginals of flat scores, as in SPIGOT-CE, it would need thousands. But the polytope of trees
lies inside a simpler polytope, where every word has an independent distribution over heads. If the
projection nu onto the simpler polytope lies in the polytope of trees, nu is the projection onto
both. The following test decides whether it does.

nu is 0 at some arcs. Let p be a distribution over the trees without these arcs, mu its marginals
and Cov the covariance of its arcs. Let delta = mu - nu and Cov a = delta. Then
q(z) = p(z) (1 - <a, z> + <a, mu>) sums to one and has the mean mu - delta = nu. If q is nowhere
below 0, that is if max_z <a, z> <= 1 + <a, mu>, nu is a mean of trees. Otherwise scores - a have
marginals closer to nu (Newton's method for scores with the marginals nu); they define the next p.
The first p comes from the given scores, moved closer to nu by scaling.
"""

import torch
from entmax import sparsemax
from torch import Tensor

# Conjugate gradients stop here, relative to delta: a mean of structures is this close to nu.
TOLERANCE = 1e-6
# The active set method stops here. From 30 words on, this is four times as fast as an exact search;
# |mu - nu|^2 is at most twice the gap, and arcs were about 1e-6 off where it was measured.
GAP = 1e-6
MOST_PRODUCTS = 60
MOST_STEPS = 6
# Scalings are cheap, but arcs of different words interact: full steps would overshoot.
MOST_SCALINGS, SHARE = 40, 0.15
NEAR = 0.01
# Larger than any score, but small enough to keep the scores' last digits.
PENALTY = 1e6


def project_near_marginals(trees, target: Tensor, possible: Tensor) -> Tensor:
    """SparseMAP(target), for targets near the marginals of ``trees``.

    Args:
        trees: :class:`.DependencyTrees`.
        target: (batch, n, n), the points to project; 0 where no arc is possible.
        possible: (batch, n, n) booleans, which arcs are possible.

    Returns:
        (batch, n, n): nu where the module's test succeeds; elsewhere the result of the active set
        method, up to a gap of 1e-6.
    """
    structure, single_root = trees.with_scores, trees.single_root
    nu = _onto_simplices(target.detach().double(), possible, single_root)
    left_out = possible & (nu == 0)
    without = trees.scores.detach().double()
    # If all trees need an arc that is left out, nu is not a mean of trees.
    needed = structure(without - PENALTY * left_out).argmax * left_out
    hopeful = ~(needed > 0).flatten(-2).any(-1)
    without = without.masked_fill(left_out & hopeful[..., None, None], -torch.inf)
    without = _scaled(structure, without, nu, hopeful)
    inside, found = torch.zeros_like(hopeful), None
    for _ in range(MOST_STEPS):
        step, best, spread, solved = _newton_step(structure, without, nu, hopeful)
        inside |= hopeful & solved & (spread <= 1)
        found = best if found is None else found
        hopeful = hopeful & ~inside & solved
        if not hopeful.any():
            break
        # A full step if q is close to a distribution, else a shorter one.
        length = (2 / spread).clamp(max=1.0).where(hopeful, 0.0)
        without = without - (length[..., None, None] * step)
    shown, inner = inside[..., None, None], nu.to(target.dtype)
    if inside.all():
        return inner
    # A tree is its own projection, found at once: it replaces targets that are solved already.
    left = torch.where(shown, found.to(target.dtype), target).masked_fill(~possible, -torch.inf)
    nearest = structure(left).solve_sparsemap(GAP, trees.sparsemap_steps).mean(trees.lengths)
    return torch.where(shown, inner, nearest.to(target.dtype))


def _scaled(structure, scores: Tensor, nu: Tensor, wanted: Tensor) -> Tensor:
    """Scores with marginals closer to nu: a share of log(nu / mu) is added, arc by arc."""
    for _ in range(MOST_SCALINGS):
        mu = structure(scores).marginals
        ratio = torch.where((nu > 0) & (mu > 0) & wanted[..., None, None], nu / mu, 1.0)
        if ((ratio - 1).abs() <= NEAR).all():
            break
        scores = scores + SHARE * ratio.log().clamp(-3.0, 3.0)
    return scores


def _newton_step(structure, scores: Tensor, nu: Tensor, wanted: Tensor):
    """a, the tree z that maximises <a, z>, <a, z> - <a, mu>, and whether Cov a = delta."""
    with torch.enable_grad():
        given = scores.requires_grad_()
        marginals = structure(given).marginals
    mu = marginals.detach()
    wanted = wanted[..., None, None]
    a, solved = _conjugate_gradients(
        lambda a: torch.autograd.grad(marginals, given, a, retain_graph=True)[0],
        torch.where(wanted, mu - nu, 0.0), (mu * (1 - mu)).clamp_min(1e-12),
    )  # fmt: skip
    best = structure(a.masked_fill(scores == -torch.inf, -torch.inf)).argmax
    return a, best, _dot(a, best) - _dot(a, mu), solved


def _onto_simplices(target: Tensor, possible: Tensor, single_root: bool) -> Tensor:
    """The nearest distributions over heads, one for each word.

    With a single root, the root's probabilities sum to one: the target's entries for the root are
    lowered by an amount found by bisection.
    """

    def nearest(values: Tensor) -> Tensor:
        shifted = values.masked_fill(~possible, -torch.inf)
        outside = ~possible.any(-2, keepdim=True)
        return sparsemax(shifted.masked_fill(outside, 0.0), dim=-2) * possible

    if not single_root:
        return nearest(target)
    roots = torch.eye(target.size(-1), dtype=target.dtype, device=target.device)
    size = 2 + 2 * target.abs().flatten(-2).amax(-1)
    low, high = -size, size
    for _ in range(60):
        middle = (low + high) / 2
        nu = nearest(target - middle[..., None, None] * roots)
        more = _dot(nu, roots) > 1
        low, high = torch.where(more, middle, low), torch.where(more, high, middle)
    return nu


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum((-2, -1))


def _conjugate_gradients(product, wanted: Tensor, diagonal: Tensor) -> tuple[Tensor, Tensor]:
    """The a with product(a) = wanted, and for which structures it was found."""
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
