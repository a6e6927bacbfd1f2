"""Projection of points near the middle of a marginal polytope, where SparseMAP takes too long.

The active set method looks for the few structures whose mean is the projection. Of a point near
the marginals of flat scores, as SPIGOT-CE projects it, that would be thousands. But the polytope
of trees lies in a simpler one, in which every word has a distribution over heads of its own, and
where it holds the projection onto the simpler one, this is the projection onto both. Whether it
does, the following shows.

The projection nu is 0 at some arcs. Of p, a distribution over the trees without these arcs, let mu
be the marginals and Cov the covariance of the arcs; delta = mu - nu and Cov a = delta. Then
q(z) = p(z) (1 - <a, z> + <a, mu>) sums to one and has the mean mu - delta = nu. If q is nowhere
below 0, that is if max_z <a, z> <= 1 + <a, mu>, nu is a mean of trees. Else scores less a have
marginals nearer to nu (Newton's method for the scores whose marginals are nu), and p is the
distribution of those. The first p is that of the given scores, brought nearer to nu by scaling.
"""

import torch
from entmax import sparsemax
from torch import Tensor

# Conjugate gradients stop here, relative to delta: so close to nu is a mean of structures.
TOLERANCE = 1e-6
MOST_PRODUCTS = 60
MOST_STEPS = 6
# Scalings are cheap, but words share their heads: whole steps would go too far.
MOST_SCALINGS, SHARE = 40, 0.15
NEAR = 0.01
# More than any score, and less than what would cost them their last digits.
PENALTY = 1e6


def project_near_marginals(trees, target: Tensor, possible: Tensor) -> Tensor:
    """SparseMAP(target), for targets near the marginals of ``trees``.

    Args:
        trees: :class:`.DependencyTrees`.
        target: (batch, n, n), what is projected; 0 where no arc is possible.
        possible: (batch, n, n) booleans, which arcs are.

    Returns:
        (batch, n, n): exact where the argument above holds; elsewhere what the active set method
        finds.
    """
    structure, single_root = trees.with_scores, trees.single_root
    nu = _onto_simplices(target.detach().double(), possible, single_root)
    left_out = possible & (nu == 0)
    without = trees.scores.detach().double()
    # Where trees need an arc that is left out, nu is none of their means.
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
        # A full step where q is near to being a distribution, a shorter one far from there.
        length = (2 / spread).clamp(max=1.0).where(hopeful, 0.0)
        without = without - (length[..., None, None] * step)
    shown, inner = inside[..., None, None], nu.to(target.dtype)
    if inside.all():
        return inner
    # A tree is its own projection, found at once: it stands in for what is known already.
    left = torch.where(shown, found.to(target.dtype), target).masked_fill(~possible, -torch.inf)
    return torch.where(shown, inner, structure(left).sparsemap)


def _scaled(structure, scores: Tensor, nu: Tensor, wanted: Tensor) -> Tensor:
    """Scores whose marginals are nearer to nu: more by a share of log(nu / mu), arc by arc."""
    for _ in range(MOST_SCALINGS):
        mu = structure(scores).marginals
        ratio = torch.where((nu > 0) & (mu > 0) & wanted[..., None, None], nu / mu, 1.0)
        if ((ratio - 1).abs() <= NEAR).all():
            break
        scores = scores + SHARE * ratio.log().clamp(-3.0, 3.0)
    return scores


def _newton_step(structure, scores: Tensor, nu: Tensor, wanted: Tensor):
    """a, a tree that maximises <a, z>, its <a, z> - <a, mu>, and whether Cov a = delta."""
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

    With a single root those of the root sum to one: the target's are lowered by what makes them
    so, found by bisection.
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
