"""Autograd functions for surrogate gradients: a value whose gradient is chosen freely."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.structure.precision import at_least_float32


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """``hard`` in the forward pass, the gradient of ``soft`` in the backward pass."""
    return Surrogate.apply(soft, hard, lambda gradient: gradient)


def in_same_precision(surrogate: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """``surrogate``, run in the backward pass under the autocast of the forward pass."""
    device = next(d for d in ("cuda", "cpu") if d == "cpu" or torch.is_autocast_enabled(d))
    if not torch.is_autocast_enabled(device):
        return surrogate
    dtype = torch.get_autocast_dtype(device)

    def wrapped(gradient: Tensor) -> Tensor:
        with torch.autocast(device, dtype=dtype):
            return surrogate(gradient)

    return wrapped


class Surrogate(torch.autograd.Function):
    """``value``; ``backward_of`` maps its gradient to the gradient with respect to ``scores``."""

    @staticmethod
    def forward(context, scores: Tensor, value: Tensor, backward_of: Callable[[Tensor], Tensor]):
        context.backward_of = backward_of
        return value.to(scores.dtype).clone()

    @staticmethod
    def backward(context, gradient: Tensor):
        if torch.is_grad_enabled():
            raise RuntimeError("a surrogate gradient cannot be differentiated again")
        return context.backward_of(gradient).to(gradient.dtype), None, None


class Weights:
    """The weight of each instance's loss in the number that was differentiated.

    A mean over the batch, or a loss scale for half precision, makes gradients smaller or larger.
    Steps towards a pulled-back label must not depend on this weight.
    """

    seen: Tensor | None = None

    def of(self, gradient: Tensor) -> Tensor:
        """The weights, (batch, 1, ...) like ``gradient`` (batch, ...); ones if none were seen."""
        if self.seen is None:  # the losses were not part of it
            return torch.ones_like(gradient[:1].flatten()[:1])
        return at_least_float32(self.seen).view(-1, *[1] * (gradient.dim() - 1))


class Observed(torch.autograd.Function):
    """Returns the losses unchanged; records their weights in the backward pass."""

    @staticmethod
    def forward(context, losses: Tensor, weights: Weights) -> Tensor:
        context.weights = weights
        return losses.clone()

    @staticmethod
    def backward(context, gradient: Tensor):
        context.weights.seen = gradient.detach()
        return gradient, None
