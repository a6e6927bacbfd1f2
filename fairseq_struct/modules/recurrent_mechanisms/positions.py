"""Places of symbols, counted from the right end of the current sequence."""

from __future__ import annotations

from torch import Tensor


def places_from_right(live: Tensor) -> Tensor:
    """(batch, n) how many symbols stand to the right of each place, 0 for the last symbol.

    Args:
        live: (batch, n) true where a symbol stands.
    """
    return live.sum(1, keepdim=True) - live.cumsum(1)
