"""Log-partition functions and marginals as differentiable functions, whatever computes them.

The gradient of a log-partition function is the marginals, theirs the Hessian (its product with a
vector costs about three times the marginals), and all further derivatives are taken through the
plain torch computation.
"""

from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor

from fairseq_struct.structure.log_domain import as_sums, no_tree


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
        if not marginals.requires_grad:  # of a single word they are 1, whatever its score
            return torch.zeros_like(scores)
        (product,) = torch.autograd.grad(marginals, given, direction)
    return product


class LogPartition(torch.autograd.Function):
    """Log-partition functions (batch,) of scores (batch, n, n), given their known values.

    Its gradient: the marginals, known as well.
    """

    @staticmethod
    def forward(
        context, scores, lengths, value, marginals, trees: ModuleType, single_root, backend
    ):
        context.save_for_backward(scores, lengths, marginals)
        context.how = trees, single_root, backend
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        scores, lengths, marginals = context.saved_tensors
        known = marginals
        if torch.is_grad_enabled():  # somebody will differentiate the gradient
            known = Marginals.apply(scores, lengths, marginals, *context.how)
        return gradient[:, None, None] * known, *[None] * 6


class Marginals(torch.autograd.Function):
    """Marginals (batch, n, n), given their known value; its gradient: the Hessian's products."""

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
                # A tensor of its own: the direction may depend on the scores as well.
                given = scores.view_as(scores) if differentiable else scores.detach()
                if not differentiable:
                    given, direction = given.requires_grad_(), direction.detach()
                value = trees.log_partition_torch(given, lengths, single_root)
                (marginals,) = torch.autograd.grad(value.sum(), given, create_graph=True)
                (product,) = torch.autograd.grad(marginals, given, direction, create_graph=True)
                (by_scores,) = torch.autograd.grad(
                    product, given, gradient, create_graph=differentiable
                )
        return by_scores, None, by_direction, None, None, None
