"""Autograd pieces of surrogate gradients: a value with a gradient of its own making."""

from collections.abc import Callable

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """``tensor`` in float32, or as it is in float64."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """``hard`` going forward, the gradient of ``soft`` going back."""
    return Surrogate.apply(soft, hard, lambda gradient: gradient)


def in_same_precision(surrogate: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Call the decoder in the backward pass under the autocast of the forward pass."""
    device = next(d for d in ("cuda", "cpu") if d == "cpu" or torch.is_autocast_enabled(d))
    if not torch.is_autocast_enabled(device):
        return surrogate
    dtype = torch.get_autocast_dtype(device)

    def wrapped(gradient: Tensor) -> Tensor:
        with torch.autocast(device, dtype=dtype):
            return surrogate(gradient)

    return wrapped


class Surrogate(torch.autograd.Function):
    """``value``, with a gradient by ``scores`` that ``backward_of`` makes of its own."""

    @staticmethod
    def forward(context, scores: Tensor, value: Tensor, backward_of: Callable[[Tensor], Tensor]):
        context.backward_of = backward_of
        return value.to(scores.dtype).clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context, gradient: Tensor):
        return context.backward_of(gradient).to(gradient.dtype), None, None


class Weights:
    """With which weight each instance's loss entered the number that was differentiated.

    A mean over the batch, or the factor that keeps half precision from vanishing, makes
    gradients smaller or larger; steps towards a pulled-back label must not depend on it.
    """

    seen: Tensor | None = None

    def of(self, gradient: Tensor) -> Tensor:
        if self.seen is None:  # what was differentiated does not contain the losses
            return torch.ones_like(gradient[:1].flatten()[:1])
        return at_least_float32(self.seen).view(-1, *[1] * (gradient.dim() - 1))


class Observed(torch.autograd.Function):
    """The losses as they are; their weights are taken down on the way back."""

    @staticmethod
    def forward(context, losses: Tensor, weights: Weights) -> Tensor:
        context.weights = weights
        return losses.clone()

    @staticmethod
    def backward(context, gradient: Tensor):
        context.weights.seen = gradient.detach()
        return gradient, None
