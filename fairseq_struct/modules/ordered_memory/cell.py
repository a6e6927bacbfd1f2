"""The gated recursive cell: a composition function of two subtrees."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.dropouts import unit_dropout


class GatedRecursiveCell(nn.Module):
    """Composes two vectors into one (Shen's thesis, section 3.5.2).

    [v; h; c; u] = W_2 ReLU(W_1 [vertical; horizontal] + b_1) + b_2 (eq. 3.5.12) and
    o = LN(sigma(v) * vertical + sigma(h) * horizontal + sigma(c) * u) (eq. 3.5.13).

    The thesis does not give the size of the hidden layer; as in the published code, it is 4 D, with
    dropout before both layers. ``norm`` is LN, whose parameters also serve eq. 3.5.1.

    Args:
        size: D.
        dropout: probability.

    Raises:
        ValueError: the size is below 1, or the dropout is out of range.
    """

    def __init__(self, size: int, dropout: float = 0.0):
        super().__init__()
        if size < 1:
            raise ValueError(f"the size of a cell must be 1 or more, not {size}")
        self.size, self.dropout = size, unit_dropout(dropout)
        self.hidden = nn.Linear(2 * size, 4 * size)
        self.gates = nn.Linear(4 * size, 4 * size)
        self.norm = nn.LayerNorm(size)

    def forward(self, vertical: Tensor, horizontal: Tensor) -> Tensor:
        """o, shaped as the inputs.

        Args:
            vertical: (.., D) the later subtree; in Ordered Memory, the slot below.
            horizontal: (.., D) the earlier subtree; in Ordered Memory, the slot one step before.
        """
        given = self.dropout(torch.cat([vertical, horizontal], -1))
        gates = self.gates(self.dropout(self.hidden(given).relu()))
        v, h, c, u = gates.chunk(4, -1)
        return self.norm(v.sigmoid() * vertical + h.sigmoid() * horizontal + c.sigmoid() * u)
