"""Products with one matrix many times over, as recurrent networks need them.

Recurrent layers multiply small batches with the same weights at every step. On a CPU, torch's
``mm`` hands each product to a general matrix library; oneDNN, which torch brings along and uses
for ``nn.LSTM``, can lay out the weights once for all steps and is up to twice as fast. Torch
reaches that way through operators of its compiler, which are not promised to stay: where they
are missing, or tensors are not in float32 on a CPU, ``mm`` does the work.
"""

from functools import cache, partial

import torch
from torch import Tensor

from fairseq_struct.processor import own_instructions

# Rows up to which weights are laid out as those of a convolution, on processors without AVX-512:
# oneDNN's products of few rows keep fewer sums in registers there than its convolutions do.
FEW_ROWS = 64


@cache
def _operators():
    """A maker of oneDNN's products, whose weights are laid out in advance; None without."""
    return _maker(_Linear, "_linear_pointwise", "_reorder_linear_weight")


@cache
def _convolutions():
    """A maker of the same products as its convolutions; None where they are not faster."""
    if own_instructions() not in ("avx", "avx2"):
        return None
    return _maker(_Convolution, "_convolution_pointwise", "_reorder_convolution_weight")


def _maker(kind, product: str, layout: str):
    # None if torch lacks the operators, or they are no longer what they were.
    try:
        operators = [getattr(torch.ops.mkldnn, name) for name in (product, layout)]
        make = partial(kind, product=operators[0], layout=operators[1])
        result = make(torch.ones(3, 5), 2)(torch.ones(2, 5), torch.ones(3))
    except (AttributeError, RuntimeError, TypeError):
        return None
    return make if torch.equal(result, torch.full((2, 3), 6.0)) else None


class _Linear:
    def __init__(self, weight: Tensor, rows: int, product, layout):
        self.product, self.weight = product, layout(weight, rows)

    def __call__(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return self.product(x, self.weight, bias, "none", [], "")


class _Convolution:
    """The same product: rows are points of a picture, columns its channels, the kernel a point."""

    sliding = [0, 0], [1, 1], [1, 1], 1  # padding, stride, dilation, groups

    def __init__(self, weight: Tensor, rows: int, product, layout):
        size = [1, weight.size(1), rows, 1]
        self.product, self.weight = product, layout(weight[:, :, None, None], *self.sliding, size)

    def __call__(self, x: Tensor, bias: Tensor | None) -> Tensor:
        points = x.contiguous().t()[None, :, :, None]  # of memory as channels-last has it
        made = self.product(points, self.weight, bias, *self.sliding, "none", [], "")
        return made[0, :, :, 0].t()


class PackedProduct:
    """x W' for many x, outside of autograd.

    Args:
        weight: W, (outputs, inputs).
        rows: how many rows x will have.
    """

    def __init__(self, weight: Tensor, rows: int):
        self._product, self._weight = None, weight.t()
        if weight.device.type == "cpu" and weight.dtype == torch.float32 and min(weight.shape) > 1:
            make = (_convolutions() if rows <= FEW_ROWS else None) or _operators()
            self._product = make(weight, rows) if make else None

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """(rows, outputs) of x, (rows, inputs), and of a bias (outputs,) to be added."""
        if self._product is not None:
            return self._product(x, bias)
        return torch.mm(x, self._weight) if bias is None else bias.addmm(x, self._weight)
