"""Sums that padding does not change, not even in the last bit.

``torch.sum`` adds up in an order that depends on how many numbers there are, zeros behind a
sentence's end included.
"""

import torch
from torch import Tensor


def padded_sum(values: Tensor) -> Tensor:
    """Sum over the last dimension, one by one: on a CPU the same however many zeros follow.

    Args:
        values: (..., n), n >= 1.
    """
    return _PaddedSum.apply(values)


class _PaddedSum(torch.autograd.Function):
    @staticmethod
    def forward(context, values: Tensor) -> Tensor:
        context.shape = values.shape
        return values.cumsum(-1)[..., -1]

    @staticmethod
    def backward(context, gradient: Tensor) -> Tensor:
        return gradient.unsqueeze(-1).expand(context.shape)
