"""Places of symbols, counted from the right end of the current sequence."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def places_from_right(live: Tensor) -> Tensor:
    """(batch, n) how many symbols stand to the right of each place, 0 for the last symbol.

    Args:
        live: (batch, n) true where a symbol stands.
    """
    return live.sum(1, keepdim=True) - live.cumsum(1)


def sinusoids(count: int, size: int, device: torch.device | None = None) -> Tensor:
    """(count, size) vectors of places 0, 1, …: sines and cosines, interleaved.

    The wave lengths are 2 pi 10000^(2 i / size) (Vaswani et al., 2017, section 3.5).
    """
    frequency = torch.arange(0, size, 2, device=device) * (-math.log(10000) / size)
    angles = torch.arange(count, device=device)[:, None] * frequency.exp()
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :size]
