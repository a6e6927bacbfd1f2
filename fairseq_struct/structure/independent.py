"""Several structures per instance, independent of each other, such as a tree for each sentence."""

from collections.abc import Callable

import torch
from torch import Tensor


class Independent:
    """k structures z_1 .. z_k per instance, with p(z) = p(z_1) ... p(z_k).

    It has the methods that surrogate gradients (:mod:`fairseq_struct.structure.pullback`) need
    where a loss depends on more than one structure, as for pairs of sentences.

    Args:
        scores: (batch, k, ...) scores.
        structure: makes the distribution of scores (batch * k, ...), instances in order.

    Raises:
        ValueError: fewer than two dimensions, and whatever ``structure`` raises.
    """

    def __init__(self, scores: Tensor, structure: Callable[[Tensor], object]):
        if scores.dim() < 2:
            raise ValueError(f"scores must have shape (batch, k, ...), not {tuple(scores.shape)}")
        self.scores = scores
        self._structure = structure
        self._each = structure(scores.flatten(0, 1))

    def _grouped(self, value: Tensor) -> Tensor:
        return value.unflatten(0, self.scores.shape[:2])

    @property
    def within(self) -> Tensor:
        """Which parts are inside their structure, booleans shaped as the scores."""
        return self._grouped(self._each.within)

    @property
    def argmax(self) -> Tensor:
        """The best structures, shaped as the scores."""
        return self._grouped(self._each.argmax)

    @property
    def marginals(self) -> Tensor:
        """Marginals of the structures, shaped as the scores."""
        return self._grouped(self._each.marginals)

    @property
    def sparsemap(self) -> Tensor:
        """SparseMAP of each structure: the projection onto the product of the convex hulls."""
        return self._grouped(self._each.sparsemap)

    def project(self, target: Tensor, possible: Tensor) -> Tensor:
        """SparseMAP of a target near the marginals; ``possible`` marks the possible parts."""
        return self._grouped(self._each.project(target.flatten(0, 1), possible.flatten(0, 1)))

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,): the sum over the k structures."""
        return self._grouped(self._each.log_partition).sum(1)

    @property
    def entropy(self) -> Tensor:
        """H(p), (batch,): the sum over the k structures."""
        return self._grouped(self._each.entropy).sum(1)

    def sample(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """Independent draws, (count, batch, k, ...)."""
        drawn = self._each.sample(count, generator)
        return drawn.unflatten(1, self.scores.shape[:2])

    def perturbed(self, generator: torch.Generator | None = None) -> "Independent":
        """The same scores under Gumbel noise."""
        noisy = self._each.perturbed(generator)
        return self._of(noisy)

    def observe(self, known: Tensor) -> "Independent":
        """The distribution given the known parts, (batch, k, ...)."""
        if known.shape[:2] != self.scores.shape[:2]:
            raise ValueError(
                f"known must have shape {tuple(self.scores.shape[:2])} + ..., not "
                f"{tuple(known.shape)}"
            )
        seen = self._each.observe(known.flatten(0, 1))
        return self._of(seen)

    def _of(self, each) -> "Independent":
        found = Independent(self._grouped(each.scores), self._structure)
        found._each = each  # its results may be less precise than its scores
        return found
