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

Conjugate gradients leave a rest: Cov a = delta - r. Then q has the mean nu + r, which is a mean of
trees, and the projection onto them is at most |r| from nu. (r is orthogonal to target - nu: where
r is not 0, that has one value for each word, plus one for the root's arcs, over all of which r sums
to 0. So nu + r is no more than |r|^2 / 2 worse than nu, and neither is the projection.) r may be
small in proportion to the way from the given marginals to nu, the gradient of SPIGOT-CE.
"""

import torch
from entmax import sparsemax
from torch import Tensor

from fairseq_struct.structure.checks import of_shape, refuse_nan_and_infinity
from fairseq_struct.structure.conjugate_gradients import conjugate_gradients, dot, norm
from fairseq_struct.structure.dependency.scaling import scaled

# Accepted |r|, relative to the way from the given marginals to nu, and in any case: below what a
# probability's single precision can tell.
RELATIVE, ABSOLUTE = 1e-4, 1e-9
# The active set method stops here; the squared error is at most twice the gap.
GAP = 1e-12
# Products of a Newton step, and Newton steps. The active set method takes about one step for each
# dimension of nu's face, and each takes the longer the more there were: up to FEW_DIMENSIONS, it is
# soon the faster way.
FEW_DIMENSIONS, FEW_PRODUCTS, FEW_STEPS = 600, 40, 2
MOST_PRODUCTS, MOST_STEPS, MOST_HALVINGS = 150, 12, 5
_ENTRY = "arc {1} -> {2} in target {0}"
# Larger than any score, but small enough to keep the scores' last digits.
PENALTY = 1e6


@torch.inference_mode(False)  # it differentiates marginals
def project_near_marginals(trees, target: Tensor, possible: Tensor) -> Tensor:
    """SparseMAP(target), for targets near the marginals of ``trees``.

    Args:
        trees: :class:`.DependencyTrees`.
        target: (batch, n, n), the points to project; 0 where no arc is possible.
        possible: (batch, n, n) booleans, which arcs are possible.

    Returns:
        (batch, n, n): nu where the module's test succeeds, off by at most 1e-4 of its distance from
        the marginals, or by 1e-9; elsewhere the result of the active set method, up to a gap of
        1e-12.
    """
    refuse_nan_and_infinity(of_shape("target", target.detach(), trees.scores.shape), _ENTRY)
    nu = _onto_simplices(target.detach().double(), possible, trees.single_root)
    precise = (RELATIVE * norm(trees.marginals.detach().double() - nu)).clamp_min(ABSOLUTE)
    left_out = possible & (nu == 0)
    scores = trees.scores.detach().double()
    # If all trees need an arc that is left out, nu is not a mean of trees.
    needed = trees.with_scores(scores - PENALTY * left_out).argmax * left_out
    outside = (needed > 0).flatten(-2).any(-1)
    few = (nu > 0).sum((-2, -1)) - trees.lengths <= FEW_DIMENSIONS
    for kind, *most in ((few, FEW_PRODUCTS, FEW_STEPS), (~few, MOST_PRODUCTS, MOST_STEPS)):
        hopeful = (~outside & kind).nonzero()[:, 0]
        without = scores.masked_fill(left_out, -torch.inf)[hopeful]
        outside[_not_shown(trees, hopeful, without, nu, precise, *most)] = True
    result, rows = nu.to(target.dtype), outside.nonzero()[:, 0]
    if len(rows) > 0:
        nearest = _over(trees, rows)(target.masked_fill(~possible, -torch.inf)[rows])
        nearest = nearest.solve_sparsemap(GAP, trees.sparsemap_steps).mean(trees.lengths[rows])
        result[rows] = nearest.to(target.dtype)
    return result


def _over(trees, rows: Tensor):
    """Trees of the same kind over some of the sentences, as a function of their scores."""
    outside, lengths = ~trees.within[rows], trees.lengths[rows]
    options = trees.projective, trees.single_root, trees.backend, trees.sparsemap_steps
    return lambda scores: type(trees)(scores.masked_fill(outside, 0.0), lengths, *options)


def _not_shown(
    trees, rows: Tensor, scores: Tensor, nu: Tensor, precise: Tensor, products: int, steps: int
) -> Tensor:
    """Those of the sentences ``rows`` whose nu is not shown to be a mean of trees.

    Args:
        scores: (len(rows), n, n), where to start.
        nu, precise: of all sentences.
        products, steps: how many at most.
    """
    if len(rows) == 0:
        return rows
    scores, given_up = scaled(_over(trees, rows), scores, nu[rows]), []
    for _ in range(steps):
        structure = _over(trees, rows)
        step, spread, solved = _newton_step(structure, scores, nu[rows], precise[rows], products)
        given_up.append(rows[~solved])
        again = solved & (spread > 1)
        rows, step, least = rows[again], step[again], (2 / spread[again]).clamp(max=1.0)
        if len(rows) == 0:
            break
        length = _step_length(_over(trees, rows), scores[again], nu[rows], step, least)
        scores = scores[again] - length[:, None, None] * step
    return torch.cat([*given_up, rows])


def _step_length(structure, scores: Tensor, nu: Tensor, step: Tensor, least: Tensor) -> Tensor:
    """1, 1/2, 1/4, … or ``least``: the first that lowers log Z - <s, nu>, which is to be least.

    ``least`` is a full step if q is close to a distribution, and safe otherwise. A longer one has
    to win a tenth of what the slope promises.
    """

    def loss(scores: Tensor) -> Tensor:
        return structure(scores).log_partition - dot(scores.masked_fill(nu == 0, 0.0), nu)

    before, slope = loss(scores), dot(structure(scores).marginals - nu, step)
    length, found = torch.ones_like(least), least >= 1
    for _ in range(MOST_HALVINGS):
        if found.all():
            break
        found = found | (
            loss(scores - length[:, None, None] * step) <= before - length * slope / 10
        )
        length = torch.where(found, length, length / 2)
    return torch.where(found, length, least).maximum(least)


def _newton_step(structure, scores: Tensor, nu: Tensor, precise: Tensor, products: int):
    """a, max_z <a, z> - <a, mu>, and whether Cov a is near delta."""
    with torch.enable_grad():
        given = scores.requires_grad_()
        marginals = structure(given).marginals
    mu = marginals.detach()
    a, solved = conjugate_gradients(
        lambda a: torch.autograd.grad(marginals, given, a, retain_graph=True)[0],
        mu - nu, (mu * (1 - mu)).clamp_min(1e-12), precise, products,
    )  # fmt: skip
    best = structure(a.masked_fill(scores == -torch.inf, -torch.inf)).argmax
    return a, dot(a, best) - dot(a, mu), solved


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
        more = dot(nu, roots) > 1
        low, high = torch.where(more, middle, low), torch.where(more, high, middle)
    return nu
