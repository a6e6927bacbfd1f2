"""The 1.5-entmax of scores, whose gradient can be differentiated again."""

import entmax
import torch
from torch import Tensor


def entmax15(scores: Tensor, dim: int = -1, k: int | None = None) -> Tensor:
    """1.5-entmax: p_i = max(s_i / 2 - tau, 0)^2, with the tau that lets p sum to 1.

    Source: Peters et al., "Sparse sequence-to-sequence models", 2019, section 3. The value is that
    of the entmax library. That library's gradient, differentiated, would be NaN wherever p is 0.

    Args:
        scores: of any shape; -inf forbids.
        dim: along which p sums to 1.
        k: how many of the highest scores are sorted at first; all if not given.
    """
    return _Entmax15.apply(scores, dim, k)


class _Entmax15(torch.autograd.Function):
    """dp = r * (ds - <r, ds> / sum(r)) with r = sqrt(p), which is symmetric."""

    @staticmethod
    def forward(context, scores: Tensor, dim: int, k: int | None) -> Tensor:
        found = entmax.entmax15(scores, dim=dim, k=k)
        context.dim = dim
        context.save_for_backward(scores, found)
        return found

    @staticmethod
    def backward(context, gradient: Tensor):
        scores, found = context.saved_tensors
        roots = _roots(scores, found > 0, context.dim) if torch.is_grad_enabled() else found.sqrt()
        given = gradient * roots
        total = given.sum(context.dim, keepdim=True) / roots.sum(context.dim, keepdim=True)
        return given - total * roots, None, None


def _roots(scores: Tensor, support: Tensor, dim: int) -> Tensor:
    """s / 2 - tau on the support, else 0, as a differentiable function of the scores."""
    scores = scores - scores.detach().amax(dim, keepdim=True)  # large ones would be rounded
    halves = torch.where(support, scores, 0.0) / 2
    count = support.sum(dim, keepdim=True)
    mean = halves.sum(dim, keepdim=True) / count
    away = torch.where(support, halves - mean, 0.0)
    # The roots' squares sum to 1: count * (mean - tau)^2 + sum of away^2.
    level = ((1 - away.square().sum(dim, keepdim=True)) / count).clamp_min(0.0).sqrt()
    return torch.where(support, away + level, 0.0)
