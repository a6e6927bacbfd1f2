"""Masks of padded batches."""

import torch
from torch import Tensor


def within(lengths: Tensor, size: int) -> Tensor:
    """Which places are inside their sequence, (batch, size) booleans.

    Args:
        lengths: (batch,) places of each sequence, the others being padding.
        size: places of the padded batch.
    """
    return torch.arange(size, device=lengths.device) < lengths[:, None]
