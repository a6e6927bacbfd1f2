"""SparseMAP as a differentiable function: which trees, their weights, their mean.

SparseMAP(s) = argmax over mu in conv(trees) of <s, mu> - |mu|^2 / 2, the Euclidean projection of
the scores onto the marginal polytope (Niculae et al., 2018; Mihaylova's thesis, eq. 2.8).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure import sparsemap_kernels
from fairseq_struct.structure.checks import above_zero, whole_number
from fairseq_struct.structure.compiled import Space, array, run, threads_for
from fairseq_struct.structure.heads import is_tree, rows_of

# Sentences that go side by side.
BLOCK = 32


@dataclass(frozen=True)
class SparseDistribution:
    """A distribution over few trees.

    Args:
        trees: (batch, most, n) heads, 1-based, 0 for the root.
        weights: (batch, most) probabilities, 0 behind the last tree.
        sizes: (batch,) number of trees.
        gaps: (batch,) optimality gaps: max_z <s - mu, z> - <s - mu, mu>. The squared distance
            of mu from the exact solution is at most twice the gap.
        tolerance: gap at which the search stopped where it could.
        (Trees of tiny weight, which larger gaps leave out, matter to the Jacobian.)
    """

    trees: Tensor
    weights: Tensor
    sizes: Tensor
    gaps: Tensor
    tolerance: float = 1e-12

    @property
    def converged(self) -> Tensor:
        """(batch,) whether the gap is within 1e-8, or the tolerance asked for if that is more."""
        return self.gaps <= max(self.tolerance, 1e-8)


def solve(
    scores: Tensor,
    lengths: Tensor,
    projective: bool,
    single_root: bool,
    tolerance: float = 1e-12,
    most_steps: int | None = None,
    start: SparseDistribution | None = None,
) -> SparseDistribution:
    """The active set method, sentence by sentence, on the CPU.

    Args:
        scores: (batch, n, n) in float64, the best of every word 0, -inf outside of each sentence.
        lengths: (batch,).
        projective, single_root: which trees.
        tolerance: gap at which to stop.
        most_steps: most calls for a best tree; for a sentence of n words 100 + 3 n if not given.
            Scores near 0 would take thousands; what has been reached then is returned, and its gap
            says how good it is.
        start: trees to begin with, such as the solution for similar scores.

    Raises:
        TypeError, ValueError: ``most_steps`` is no integer or below 1, ``tolerance`` not above 0,
            or ``start`` has trees of another kind, of other sentences, or with forbidden arcs.
    """
    batch, n, _ = scores.shape
    own = array(lengths, np.int64)
    limit = 100 + 3 * own
    if most_steps is not None:
        limit[:] = whole_number("most_steps", most_steps, 1)
    above_zero("tolerance", tolerance)
    if start is not None:
        _check_start(start, scores, lengths, projective, single_root)
    # No more trees than these are affinely independent, and others are not kept.
    independent = n * n - n + 2
    room = min(int(limit.max(initial=0)) + 1, independent)
    room += start.trees.size(1) if start is not None else 0
    trees = np.zeros((batch, room, n), np.int64)
    weights, gaps = np.zeros((batch, room)), np.zeros(batch)
    sizes = np.zeros(batch, np.int64)
    if start is not None:
        given = start.trees.size(1)
        trees[:, :given] = array(start.trees, np.int64)
        weights[:, :given] = array(start.weights)
        sizes[:] = array(start.sizes, np.int64)
    steps = 50.0 * own.astype(np.float64) ** 3
    share = -(-batch // threads_for(steps.sum()))
    block = max(1, min(BLOCK, share))
    steps = np.pad(steps, (0, -batch % block))
    run(
        sparsemap_kernels.sparsemap, steps.reshape(-1, block).sum(1), block,
        array(scores), own, projective, single_root, limit, tolerance,
        trees, weights, sizes, gaps,
        workspace=(
            Space((block, room, room)), Space((block, n, n)),
            Space((4, n, n * block)), Space((2, n, n * block)),
            Space((4, n, n * block), np.float32), Space((2, n, n * block), np.float32),
        ),
    )
    most = max(int(sizes.max(initial=0)), 1)
    behind = np.arange(most) >= sizes[:, None]
    weights = weights[:, :most].copy()
    weights[behind] = 0.0
    device = scores.device
    return SparseDistribution(
        torch.from_numpy(trees[:, :most].copy()).to(device),
        torch.from_numpy(weights).to(device),
        torch.from_numpy(sizes).to(device),
        torch.from_numpy(gaps).to(device),
        tolerance,
    )


def _check_start(
    start: SparseDistribution, scores: Tensor, lengths: Tensor, projective: bool, single_root: bool
):
    if not isinstance(start, SparseDistribution):
        raise TypeError(f"start must be a SparseDistribution, not {type(start).__name__}")
    batch, most, n = start.trees.shape
    weights, sizes = start.weights, start.sizes
    fits = weights.shape == (batch, most) and sizes.shape == (batch,)
    if not fits or (sizes < 0).any() or (sizes > most).any() or not (weights >= 0).all():
        raise ValueError(
            f"the solution to start from needs weights of shape ({batch}, {most}), 0 or more, and "
            f"sizes of shape ({batch},), 0 to {most}"
        )
    if (batch, n) != scores.shape[:2]:
        raise ValueError(
            f"the solution to start from is for {batch} sentences of up to {n} words, not for "
            f"{scores.size(0)} of up to {scores.size(1)}"
        )
    trees = start.trees.transpose(0, 1)
    fits = is_tree(trees, lengths, projective, single_root)
    picked = scores.expand(most, -1, -1, -1).gather(2, rows_of(trees, lengths).unsqueeze(2))
    words = torch.arange(n, device=scores.device) < lengths[:, None]
    fits &= ((picked.squeeze(2) > -torch.inf) | ~words).all(-1)
    behind = torch.arange(most, device=scores.device)[:, None] >= start.sizes
    if not (fits | behind).all():
        a, b = (~(fits | behind)).nonzero()[0].tolist()
        raise ValueError(
            f"tree {a} to start sentence {b} from is none of the trees to choose from here"
        )


class SparseMean(torch.autograd.Function):
    """Mean (batch, n, n) of a solution of :func:`solve`, as a function of the scores."""

    @staticmethod
    def forward(context, scores: Tensor, lengths: Tensor, solution: SparseDistribution) -> Tensor:
        context.save_for_backward(lengths, solution.trees, solution.sizes)
        mu = torch.zeros(scores.shape, dtype=torch.float64)
        own = array(lengths, np.int64)
        run(
            sparsemap_kernels.means, own.astype(np.float64) ** 2,
            own, array(solution.trees, np.int64), array(solution.weights),
            array(solution.sizes, np.int64), array(mu),
        )
        return mu.to(scores.device)

    @staticmethod
    def backward(context, gradient: Tensor):
        return JacobianProduct.apply(gradient, *context.saved_tensors), None, None


class JacobianProduct(torch.autograd.Function):
    """The Jacobian of the mean by the scores, symmetric and locally constant, times a vector."""

    @staticmethod
    def forward(context, direction: Tensor, lengths: Tensor, trees: Tensor, sizes: Tensor):
        context.save_for_backward(lengths, trees, sizes)
        product = torch.zeros(direction.shape, dtype=torch.float64)
        own = array(lengths, np.int64)
        steps = own * array(sizes, np.float64) ** 2
        run(
            sparsemap_kernels.jacobian_products, steps, own,
            array(trees, np.int64), array(sizes, np.int64), array(direction), array(product),
        )
        return product.to(direction.device)

    @staticmethod
    def backward(context, gradient: Tensor):
        return JacobianProduct.apply(gradient, *context.saved_tensors), None, None, None
