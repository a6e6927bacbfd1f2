"""Recurrent units with weights of their own, all run in one batched product."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class UnitLinear(nn.Module):
    """One linear map per unit, without a bias: y_k = x_k W_k.

    Args:
        units: number of units.
        size: of inputs.
        out: of outputs.
    """

    def __init__(self, units: int, size: int, out: int):
        super().__init__()
        bound = 1 / math.sqrt(size)
        self.weight = nn.Parameter(torch.empty(units, size, out).uniform_(-bound, bound))

    def extra_repr(self) -> str:
        """Units, and sizes of inputs and outputs."""
        units, size, out = self.weight.shape
        return f"units={units}, {size}, {out}"

    def forward(self, inputs: Tensor) -> Tensor:
        """Map inputs (batch, units, size) to (batch, units, out)."""
        return torch.bmm(inputs.transpose(0, 1), self.weight.to(inputs.dtype)).transpose(0, 1)


class UnitLSTM(nn.Module):
    """An LSTM cell per unit, by PyTorch's equations, with its order of gates.

    Args:
        units: number of units.
        size: of inputs.
        hidden_size: of states.
    """

    def __init__(self, units: int, size: int, hidden_size: int):
        super().__init__()
        bound = 1 / math.sqrt(hidden_size)
        shape = (units, size + hidden_size, 4 * hidden_size)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(units, 1, 4 * hidden_size).uniform_(-bound, bound))

    def extra_repr(self) -> str:
        """Units, and sizes of inputs and states."""
        units, size, hidden = len(self.weight), *self.weight.shape[1:]
        return f"units={units}, {size - hidden // 4}, {hidden // 4}"

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """New hidden and cell states.

        Args:
            inputs: (batch, units, size).
            hidden, cell: (batch, units, hidden_size).
        """
        joined = torch.cat([inputs, hidden], -1).transpose(0, 1)
        gates = torch.baddbmm(self.bias.to(joined.dtype), joined, self.weight.to(joined.dtype))
        entry, forget, new, out = gates.transpose(0, 1).chunk(4, -1)
        cell = forget.sigmoid() * cell + entry.sigmoid() * new.tanh()
        return out.sigmoid() * cell.tanh(), cell
