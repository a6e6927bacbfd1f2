"""The mean of a SparseMAP solution as a differentiable function of the scores."""

from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.dependency.heads import values_of
from fairseq_struct.structure.dependency.sparsemap import pursuit_kernels
from fairseq_struct.structure.dependency.sparsemap.active_set import (
    active_sets,
    rows_of,
    search,
    with_rows,
)
from fairseq_struct.structure.dependency.sparsemap.groups import complete_faces, spaces_of_faces
from fairseq_struct.structure.dependency.sparsemap.solve import EXACT_GAP, SparseDistribution
from fairseq_struct.structure.kernels.compiled import Space, array, run
from fairseq_struct.structure.padded_sum import padded_sum


class Face:
    """Trees that span the faces of the marginal polytope in which a solution lies.

    The solution's own trees mostly span the face. For small scores, as of an untrained parser, some
    trees are missing. The gradient from the solution's trees alone is then wrong by several
    percent: see the row ``sparsemap_face_deviation_0.01`` of
    ``recipes/benchmarks/structured_inference.py``.

    Args:
        solution: from :func:`.sparsemap.solve`. If its gap is above 1e-12, relative to a tree's sum
            of absolute scores or to 1, only its own trees are used. A single tree is a corner of
            the polytope; its gradient is 0.
        scores, lengths, projective, single_root: as given to :func:`.sparsemap.solve`.
    """

    def __init__(
        self, solution: SparseDistribution, scores: Tensor, lengths: Tensor, projective: bool,
        single_root: bool,
    ):  # fmt: skip
        self.solution = solution
        self.scores = scores.detach()
        self.lengths = lengths
        self.kind = projective, single_root

    @cached_property
    def trees(self) -> tuple[Tensor, Tensor]:
        """(batch, most, n) heads and (batch,) their number, computed at first use."""
        solution = self.solution
        sets = active_sets(solution.trees, solution.weights, solution.sizes)
        known = array(solution.gaps) <= EXACT_GAP * np.maximum(1.0, self._magnitudes())
        which = (known & (sets.sizes > 1)).nonzero()[0]
        if len(which) > 0:
            rows = array(self.scores)[which], array(self.lengths, np.int64)[which]
            complete = partial(complete_faces, projective=self.kind[0], single_root=self.kind[1])
            found = search(complete, rows_of(sets, which), rows, spaces_of_faces)
            sets = with_rows(sets, which, found)
        most, device = max(int(sets.sizes.max(initial=0)), 1), solution.trees.device
        trees = torch.from_numpy(sets.trees[:, :most].copy()).to(device)
        return trees, torch.from_numpy(sets.sizes).to(device)

    def _magnitudes(self) -> np.ndarray:
        """(batch,) sums of absolute scores of the first trees."""
        picked = values_of(self.scores, self.solution.trees[:, 0], self.lengths)
        return array(padded_sum(picked.abs()))


class SparseMean(torch.autograd.Function):
    """Mean (batch, n, n) of a solution, as a function of the scores that belong to its face."""

    @staticmethod
    def forward(context, scores: Tensor, face: Face) -> Tensor:
        context.face = face
        return face.solution.mean(face.lengths)

    @staticmethod
    def backward(context, gradient: Tensor):
        face = context.face
        return JacobianProduct.apply(gradient, face.lengths, *face.trees), None


class JacobianProduct(torch.autograd.Function):
    """Jacobian of the mean with respect to the scores, times a vector.

    It is symmetric and locally constant.
    """

    @staticmethod
    def forward(context, direction: Tensor, lengths: Tensor, trees: Tensor, sizes: Tensor):
        context.save_for_backward(lengths, trees, sizes)
        product = torch.zeros(direction.shape, dtype=torch.float64, device="cpu")
        own = array(lengths, np.int64)
        count, (_, most, n) = array(sizes, np.float64), trees.shape
        steps = (own + count) * count**2
        run(
            pursuit_kernels.jacobian_products, steps, own,
            array(trees, np.int64), array(sizes, np.int64), array(direction), array(product),
            workspace=(Space((most, most)), Space((4, most)), Space((most, n), np.int64)),
        )
        return product.to(direction.device)

    @staticmethod
    def backward(context, gradient: Tensor):
        return JacobianProduct.apply(gradient, *context.saved_tensors), None, None, None
