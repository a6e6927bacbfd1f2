"""Sums that padding does not change, not even in the last bit.

The order in which ``torch.sum`` adds numbers depends on how many there are. The zeros after a
sentence's end count, too.
"""

import torch
from torch import Tensor


def padded_sum(values: Tensor, dimensions: int = 1) -> Tensor:
    """Sum over the last dimensions. On a CPU, trailing zeros do not change its rounding.

    Args:
        values: (..., n) or (..., n, n), n >= 1.
        dimensions: 1 or 2.
    """
    return _PaddedSum.apply(values, dimensions)


class _PaddedSum(torch.autograd.Function):
    @staticmethod
    def forward(context, values: Tensor, dimensions: int) -> Tensor:
        context.shape = values.shape
        if dimensions == 2:  # add rows in pairs: faster than one after the other
            while (rows := values.size(-2)) > 1:
                pairs = values[..., 0 : rows - 1 : 2, :] + values[..., 1::2, :]
                left = [values[..., rows - 1 :, :]] if rows % 2 else []
                values = torch.cat([pairs, *left], -2) if left else pairs
            values = values.squeeze(-2)
        return values.cumsum(-1)[..., -1]  # one by one

    @staticmethod
    def backward(context, gradient: Tensor):
        added = [1] * (len(context.shape) - gradient.dim())
        return gradient.reshape(*gradient.shape, *added).expand(context.shape), None
