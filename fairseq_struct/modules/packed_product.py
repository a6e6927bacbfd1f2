"""Products with one matrix many times over, as recurrent networks need them.

Recurrent layers multiply small batches with the same weights at every step. On a CPU, torch's
``mm`` hands each product to a general matrix library; oneDNN, which torch brings along and uses
for ``nn.LSTM``, can lay out the weights once for all steps and is up to twice as fast. Torch
reaches that way through operators of its compiler, which are not promised to stay: where they
are missing, or tensors are not in float32 on a CPU, ``mm`` does the work.
"""

from functools import cache

import torch
from torch import Tensor


@cache
def _operators():
    """oneDNN's product with weights laid out in advance, and what lays them out; None without."""
    try:
        product = torch.ops.mkldnn._linear_pointwise
        layout = torch.ops.mkldnn._reorder_linear_weight
        weight, given = torch.ones(3, 5), torch.ones(2, 5)
        result = product(given, layout(weight, 2), None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return (product, layout) if torch.equal(result, torch.full((2, 3), 5.0)) else None


class PackedProduct:
    """x W' for many x, outside of autograd.

    Args:
        weight: W, (outputs, inputs).
        rows: how many rows x will have.
    """

    def __init__(self, weight: Tensor, rows: int):
        self._product = None
        self._weight = weight.t()
        if weight.device.type == "cpu" and weight.dtype == torch.float32 and min(weight.shape) > 1:
            operators = _operators()
            if operators is not None:
                self._product, layout = operators
                self._weight = layout(weight, rows)

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """(rows, outputs) of x, (rows, inputs), and of a bias (outputs,) to be added."""
        if self._product is None:
            return torch.mm(x, self._weight) if bias is None else bias.addmm(x, self._weight)
        return self._product(x, self._weight, bias, "none", [], "")
