"""Marginals of dependency trees as the values of a variable."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_struct.modules.undirected.regularisers import (
    Regulariser,
    diverged,
)
from fairseq_struct.structure.dependency import DependencyTrees, largest_entropy
from fairseq_struct.structure.precision import at_least_float32


class TreeSupport(NamedTuple):
    """Which trees are allowed.

    Args:
        lengths: (batch,) words of each sentence.
        allowed: (batch, n, n) booleans, arcs that may be used; all if not given.
    """

    lengths: Tensor
    allowed: Tensor | None = None


class TreeMarginals(Regulariser):
    """The structured entropy Psi(Y) = -H_M(Y), whose activation are the marginals of trees.

    Source: Mihaylova's thesis, eqs. 5.17, 5.18 and 5.20. H_M(Y) is the largest entropy of a
    distribution over trees with marginals Y, and Psi*(t) = log sum over trees of exp <t, tree>.

    Args:
        projective, single_root: which trees, as for :class:`.DependencyTrees`.
    """

    def __init__(self, projective: bool = False, single_root: bool = False):
        self.projective, self.single_root = projective, single_root

    def trees(self, t: Tensor, support: TreeSupport | None = None) -> DependencyTrees:
        """The distribution over trees with arc scores t, (batch, n, n).

        Of half precision, its results are in float32, for likelihoods are sums of many numbers.
        """
        t, lengths, allowed = at_least_float32(t), None, None
        if support is not None:
            lengths, allowed = support
        if allowed is not None:
            t = t.masked_fill(~allowed, -torch.inf)
        return DependencyTrees(t, lengths, self.projective, self.single_root)

    def gradient(self, t: Tensor, support: TreeSupport | None = None) -> Tensor:
        """Marginals, (batch, n, n)."""
        return self.trees(t, support).marginals.to(t.dtype)

    def conjugate(self, t: Tensor, support: TreeSupport | None = None) -> Tensor:
        """The log-partition, (batch,)."""
        return self.trees(t, support).log_partition

    def value(self, h: Tensor, support: TreeSupport | None = None) -> Tensor:
        """-H_M(h), (batch,), as max over t of <t, h> - Psi*(t).

        Gradients do not flow. Marginals outside of the polytope, for which the maximum is infinite,
        are not told apart. Its accuracy is that of :func:`.largest_entropy`.
        """
        lengths, allowed = (None, None) if support is None else support
        used = h.detach() > 0 if allowed is None else (h.detach() > 0) & allowed
        own = TreeSupport(lengths, used)
        found = largest_entropy(lambda t: self.trees(t, own), h.detach().masked_fill(~used, 0.0))
        return -found.to(at_least_float32(h).dtype)

    def check(self, name: str, t: Tensor) -> None:
        """Raise a ValueError unless the variable has finite scores of arcs.

        Raises:
            InputError: they are not finite. An energy that is not bounded below, such as one of
                ReLU variables in a trilinear factor, may diverge within a few passes.
        """
        if t.dim() != 3 or t.size(1) != t.size(2):
            raise ValueError(f"variable {name}: trees need (batch, n, n), not {tuple(t.shape)}")
        if not t.isfinite().all():
            raise diverged(f"the arc scores of variable {name} are")
