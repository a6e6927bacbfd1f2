"""Log-partition functions and marginals as differentiable functions, for every backend.

The gradient of a log-partition function is the marginals. The gradient of the marginals is a
product with the Hessian, which costs about three times the marginals. All further derivatives go
through the plain torch computation.
"""

from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor

from fairseq_struct.structure.checks import refuse_sentences_without_tree
from fairseq_struct.structure.dependency.arc_scores import ArcScores
from fairseq_struct.structure.dependency.beside_gpu import BesideGPU
from fairseq_struct.structure.log_domain import as_sums, no_tree
from fairseq_struct.structure.padded_sum import padded_sum

Trees = ModuleType | BesideGPU


class TreeSums:
    """Sums over the trees of a batch; their values are computed once and shared.

    Args:
        arc_scores: scores of the trees' arcs.
        trees: what computes the sums: ``projective.inference`` or ``nonprojective.inference``, or
            one of them beside a GPU.
        single_root, backend: as for the functions of that module.

    All methods take ``arc_scores.differentiable()``; their results can be differentiated with
    respect to it. They raise a ValueError if the arcs of a sentence form no tree.
    """

    def __init__(self, arc_scores: ArcScores, trees: Trees, single_root: bool, backend: str):
        self._arc_scores = arc_scores
        self._how = trees, single_root, backend
        self._values: tuple[Tensor, Tensor, bool] | None = None

    def log_partition(self, scores: Tensor) -> Tensor:
        """Log-partition (batch,), with each word's best arc at score 0."""
        known = self._known(scores.requires_grad)
        return LogPartition.apply(scores, self._arc_scores.lengths, *known, *self._how)

    def marginals(self, scores: Tensor) -> Tensor:
        """Marginals (batch, n, n)."""
        known = self._known(True)[1]
        return Marginals.apply(scores, self._arc_scores.lengths, known, *self._how)

    def entropy(self, scores: Tensor) -> Tensor:
        """log Z - E[score], (batch,)."""
        mean = self.mean_score(scores, self.marginals(scores))
        return self.log_partition(scores) - mean

    def kl(self, scores: Tensor, other: "TreeSums", others: Tensor) -> Tensor:
        """E_p[log p - log q], (batch,); q has the sums ``other`` and the scores ``others``."""
        marginals = self.marginals(scores)
        mean = self.mean_score(scores, marginals) - other.mean_score(others, marginals)
        return mean - self.log_partition(scores) + other.log_partition(others)

    def mean_score(self, scores: Tensor, marginals: Tensor) -> Tensor:
        """Mean score (batch,) of trees with these marginals."""
        if self._arc_scores.any_forbidden:
            # A forbidden arc has probability 0, and 0 times -inf counts as 0.
            scores = scores.masked_fill((marginals == 0) & (scores == -torch.inf), 0.0)
        return padded_sum(scores * marginals, 2)

    def _known(self, want_marginals: bool) -> tuple[Tensor, Tensor]:
        if self._values is None or (want_marginals and not self._values[2]):
            (trees, *how), given = self._how, self._arc_scores
            with torch.inference_mode(False):  # its tensors cannot be used in autograd later
                value, marginals = trees.log_partition_and_marginals(
                    given.bounded, given.lengths, *how, want_marginals
                )
            refuse_sentences_without_tree(value)
            self._values = value, marginals, want_marginals
        return self._values[:2]


def marginals_by_autograd(
    function: Callable[[Tensor], Tensor], scores: Tensor
) -> tuple[Tensor, Tensor]:
    """Values (batch,) of a log-partition function, -inf without a tree, and its gradient."""
    with torch.enable_grad():
        given = scores.detach().requires_grad_()
        value = function(given)
        (marginals,) = torch.autograd.grad(value.sum(), given)
    value = value.detach()
    return as_sums(value), marginals.masked_fill(no_tree(value)[:, None, None], 0.0)


def hessian_product_by_autograd(
    function: Callable[[Tensor], Tensor], scores: Tensor, direction: Tensor
) -> Tensor:
    """Product of the Hessian of a log-partition function with a direction."""
    with torch.enable_grad():
        given = scores.detach().requires_grad_()
        (marginals,) = torch.autograd.grad(function(given).sum(), given, create_graph=True)
        if not marginals.requires_grad:  # for a single word they are always 1
            return torch.zeros_like(scores)
        (product,) = torch.autograd.grad(marginals, given, direction)
    return product


class LogPartition(torch.autograd.Function):
    """Log-partition functions (batch,) of scores (batch, n, n), with values known beforehand.

    Its gradient is the marginals, also known beforehand.
    """

    @staticmethod
    def forward(
        context, scores, lengths, value, marginals, trees: Trees, single_root, backend
    ):
        context.save_for_backward(scores, lengths, marginals)
        context.how = trees, single_root, backend
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        scores, lengths, marginals = context.saved_tensors
        known = marginals
        if torch.is_grad_enabled():  # the gradient may be differentiated again
            known = Marginals.apply(scores, lengths, marginals, *context.how)
        return gradient[:, None, None] * known, *[None] * 6


class Marginals(torch.autograd.Function):
    """Marginals (batch, n, n), known beforehand; the gradient is a product with the Hessian."""

    @staticmethod
    def forward(context, scores, lengths, value, trees, single_root, backend):
        context.save_for_backward(scores, lengths)
        context.how = trees, single_root, backend
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        scores, lengths = context.saved_tensors
        product = HessianProduct.apply(scores, lengths, gradient, *context.how)
        return product, None, None, None, None, None


class HessianProduct(torch.autograd.Function):
    """Hessian of the log-partition function times a direction (batch, n, n)."""

    @staticmethod
    def forward(context, scores, lengths, direction, trees, single_root, backend):
        context.save_for_backward(scores, lengths, direction)
        context.how = trees, single_root, backend
        return trees.hessian_product(scores, lengths, single_root, direction, backend)

    @staticmethod
    def backward(context, gradient):
        scores, lengths, direction = context.saved_tensors
        trees, single_root, backend = context.how
        by_scores = by_direction = None
        differentiable = torch.is_grad_enabled()
        if context.needs_input_grad[2]:  # the Hessian is symmetric
            by_direction = HessianProduct.apply(scores, lengths, gradient, *context.how)
        if context.needs_input_grad[0]:
            with torch.enable_grad():
                # A separate tensor: the direction may also depend on the scores.
                given = scores.view_as(scores) if differentiable else scores.detach()
                if not differentiable:
                    given, direction = given.requires_grad_(), direction.detach()
                value = trees.log_partition_torch(given, lengths, single_root)
                (marginals,) = torch.autograd.grad(value.sum(), given, create_graph=True)
                if not marginals.requires_grad:  # for a single word they are always 1
                    return torch.zeros_like(scores), None, by_direction, None, None, None
                (product,) = torch.autograd.grad(marginals, given, direction, create_graph=True)
                (by_scores,) = torch.autograd.grad(
                    product, given, gradient, create_graph=differentiable
                )
        return by_scores, None, by_direction, None, None, None
