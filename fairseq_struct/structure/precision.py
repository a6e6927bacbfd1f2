"""Numbers of half precision where they are not enough: sums, losses, probabilities."""

import torch
from torch import Tensor


def at_least_float32(numbers: Tensor) -> Tensor:
    """Numbers of half precision as float32, others as they are."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))
