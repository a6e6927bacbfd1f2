"""SparseMAP: the trees of the solution and their weights.

SparseMAP(s) = argmax over mu in conv(trees) of <s, mu> - |mu|^2 / 2, the Euclidean projection of
the scores onto the marginal polytope (Niculae et al., 2018; Mihaylova's thesis, eq. 2.8).
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.checks import above_zero, sentence_lengths, whole_number
from fairseq_struct.structure.dependency.heads import is_tree, values_of
from fairseq_struct.structure.dependency.sparsemap import pursuit_kernels
from fairseq_struct.structure.dependency.sparsemap.active_set import active_sets, no_trees, search
from fairseq_struct.structure.dependency.sparsemap.groups import spaces_of_sparsemap, sparsemap
from fairseq_struct.structure.kernels.compiled import array, run

# A search normally ends after at most about n^2 steps. The default limit is only for the case that
# rounding makes it cycle.
LEAST_LIMIT, LIMIT_PER_PAIR = 5000, 20
# With a larger gap, the mean or its gradient may have a visible error.
EXACT_GAP = 1e-12


@dataclass(frozen=True)
class SparseDistribution:
    """A distribution over few trees.

    Args:
        trees: (batch, most, n) heads, 1-based, 0 for the root; undefined after the last tree.
        weights: (batch, most) probabilities, 0 after the last tree.
        sizes: (batch,) number of trees.
        gaps: (batch,) optimality gaps: max_z <s - mu, z> - <s - mu, mu>. The squared distance
            of mu from the exact solution is at most twice the gap.
        tolerance: gap at which the search was to stop.
    """

    trees: Tensor
    weights: Tensor
    sizes: Tensor
    gaps: Tensor
    tolerance: float = 1e-15

    @property
    def converged(self) -> Tensor:
        """(batch,) whether the gap is within 1e-8, or within ``tolerance`` if that is larger."""
        return self.gaps <= max(self.tolerance, 1e-8)

    def mean(self, lengths: Tensor) -> Tensor:
        """(batch, n, n) mean of the trees in float64.

        Args:
            lengths: (batch,) words of the sentences that the trees are of.

        Raises:
            ValueError: lengths of another batch, or out of range.
        """
        batch, _, n = self.trees.shape
        own = array(sentence_lengths(lengths, self.trees[:, 0]), np.int64)
        mu = torch.zeros((batch, n, n), dtype=torch.float64, device="cpu")
        run(
            pursuit_kernels.means, own.astype(np.float64) ** 2,
            own, array(self.trees, np.int64), array(self.weights), array(self.sizes, np.int64),
            array(mu),
        )  # fmt: skip
        return mu.to(self.trees.device)


def solve(
    scores: Tensor,
    lengths: Tensor,
    projective: bool,
    single_root: bool,
    tolerance: float = 1e-15,
    most_steps: int | None = None,
    start: SparseDistribution | None = None,
) -> SparseDistribution:
    """The active set method, sentence by sentence, on the CPU.

    Args:
        scores: (batch, n, n) in float64; each word's best is 0, -inf outside of each sentence.
        lengths: (batch,).
        projective, single_root: which trees.
        tolerance: gap at which to stop. The search also stops if no tree improves on the current
            trees by more than rounding.
        most_steps: maximum number of searches for a best tree (at least two or three are made); if
            not given, as many as needed. At the limit, the current solution is returned with a
            warning; its gap says how good it is. Sentences of 40 words take 60 to 100 steps with
            unit-normal scores, but about 1,000 with scores near 0.
        start: trees to start from, such as the solution for similar scores. A tree that depends
            linearly on earlier ones is left out.

    Raises:
        TypeError, ValueError: ``most_steps`` is not an integer or below 1, ``tolerance`` is not
            above 0, or ``start`` has trees of another kind, of other sentences, or with forbidden
            arcs.

    Warns:
        RuntimeWarning: the steps did not suffice for every sentence.
    """
    batch, n, _ = scores.shape
    own = array(lengths, np.int64)
    limit = LEAST_LIMIT + LIMIT_PER_PAIR * own**2
    if most_steps is not None:
        limit[:] = whole_number("most_steps", most_steps, 1)
    above_zero("tolerance", tolerance)
    if start is not None:
        _check_start(start, scores, lengths, projective, single_root)
    sets = no_trees(batch, n)
    if start is not None:
        sets = active_sets(start.trees, start.weights, start.sizes)
    gaps, steps = np.zeros(batch), np.zeros(batch, np.int64)
    verb = partial(
        sparsemap, projective=projective, single_root=single_root, tolerance=tolerance
    )
    rows = array(scores), own, limit, gaps, steps
    sets = search(verb, sets, rows, spaces_of_sparsemap)
    if ((steps >= limit) & (gaps > max(tolerance, EXACT_GAP))).any():
        # The same text every time, so that a training prints it once.
        warnings.warn(
            f"SparseMAP is not exact for every sentence: {most_steps or 'the allowed'} steps (each "
            "finds one best tree) were not enough; allow more, or give None, which nearly always "
            "suffices",
            RuntimeWarning,
            stacklevel=2,
        )
    most = max(int(sets.sizes.max(initial=0)), 1)
    weights = sets.weights[:, :most].copy()
    weights[np.arange(most) >= sets.sizes[:, None]] = 0.0
    device = scores.device
    return SparseDistribution(
        torch.from_numpy(sets.trees[:, :most].copy()).to(device),
        torch.from_numpy(weights).to(device),
        torch.from_numpy(sets.sizes).to(device),
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
    good = ((weights >= 0) & weights.isfinite()).all()
    if not fits or (sizes < 0).any() or (sizes > most).any() or not good:
        raise ValueError(
            f"start needs weights of shape ({batch}, {most}), 0 or more and "
            f"finite, and sizes of shape ({batch},), 0 to {most}"
        )
    if (batch, n) != scores.shape[:2]:
        raise ValueError(
            f"start is for {batch} sentences of up to {n} words, not for "
            f"{scores.size(0)} of up to {scores.size(1)}"
        )
    behind = torch.arange(most, device=scores.device)[:, None] >= start.sizes
    trees = start.trees.transpose(0, 1).masked_fill(behind[..., None], 0)
    fits = is_tree(trees, lengths, projective, single_root)
    fits &= (values_of(scores, trees, lengths) > -torch.inf).all(-1)
    if not (fits | behind).all():
        a, b = (~(fits | behind)).nonzero()[0].tolist()
        raise ValueError(f"tree {a} of start for sentence {b} is not one of the allowed trees")
