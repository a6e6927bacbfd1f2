"""Repeated products with the same matrix, for recurrent networks.

Recurrent layers multiply small batches with the same weights at every step. On a CPU, torch's
``mm`` passes each product to a general matrix library. oneDNN, which torch contains and uses for
``nn.LSTM``, can prepare the layout of the weights once for all steps, and is up to twice as fast.
It is reached through operators of torch's compiler, which later versions of torch may drop. If they
are missing, if tensors are not in float32 on a CPU, and in graphs of ``torch.compile``, where they
need constant weights, ``mm`` is used.
"""

from functools import cache, partial

import torch
from torch import Tensor

from fairseq_struct.processor import own_instructions

# Up to this many rows, weights have the layout of a convolution on processors without AVX-512: for
# few rows, oneDNN's products keep fewer sums in registers there than its convolutions.
FEW_ROWS = 64


@cache
def _operators():
    """Factory of oneDNN's products with a prepared weight layout; None if not available."""
    return _maker(_Linear, "_linear_pointwise", "_reorder_linear_weight")


@cache
def _convolutions():
    """Factory of the same products as oneDNN convolutions; None where these are not faster."""
    if own_instructions() not in ("avx", "avx2"):
        return None
    return _maker(_Convolution, "_convolution_pointwise", "_reorder_convolution_weight")


def _maker(kind, product: str, layout: str):
    # None if torch does not have the operators, or they behave differently.
    ones = partial(torch.ones, dtype=torch.float32, device="cpu")
    try:
        operators = [getattr(torch.ops.mkldnn, name) for name in (product, layout)]
        make = partial(kind, product=operators[0], layout=operators[1])
        result = make(ones(3, 5), 2)(ones(2, 5), ones(3))
    except (AttributeError, RuntimeError, TypeError):
        return None
    return make if torch.equal(result, 6 * ones(2, 3)) else None


class _Linear:
    def __init__(self, weight: Tensor, rows: int, product, layout):
        self.product, self.weight = product, layout(weight, rows)

    def __call__(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return self.product(x, self.weight, bias, "none", [], "")


class _Convolution:
    """The product as a 1x1 convolution: rows of x are points of an image, columns its channels."""

    sliding = [0, 0], [1, 1], [1, 1], 1  # padding, stride, dilation, groups

    def __init__(self, weight: Tensor, rows: int, product, layout):
        size = [1, weight.size(1), rows, 1]
        self.product, self.weight = product, layout(weight[:, :, None, None], *self.sliding, size)

    def __call__(self, x: Tensor, bias: Tensor | None) -> Tensor:
        points = x.contiguous().t()[None, :, :, None]  # memory in channels-last order
        made = self.product(points, self.weight, bias, *self.sliding, "none", [], "")
        return made[0, :, :, 0].t()


class PackedProduct:
    """x W' for many x, outside of autograd.

    Args:
        weight: W, (outputs, inputs).
        rows: expected number of rows of x.
    """

    def __init__(self, weight: Tensor, rows: int):
        self._product, self._weight = None, weight.t()
        in_float32 = weight.device.type == "cpu" and weight.dtype == torch.float32
        if in_float32 and min(weight.shape) > 1 and not torch.compiler.is_compiling():
            make = (_convolutions() if rows <= FEW_ROWS else None) or _operators()
            self._product = make(weight, rows) if make else None

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """x W' plus a bias (outputs,), as (rows, outputs), for x (rows, inputs)."""
        if self._product is not None and not torch.compiler.is_compiling():
            return self._product(x, bias)
        return torch.mm(x, self._weight) if bias is None else bias.addmm(x, self._weight)
