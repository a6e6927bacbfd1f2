"""Tensors that a caller gives and may change, or differentiate, after they were read."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def is_differentiated(tensor: Tensor) -> bool:
    """Whether a derivative in a tensor may be wanted, in reverse or in forward mode."""
    if tensor.requires_grad and torch.is_grad_enabled():
        return True
    return not torch.compiler.is_compiling() and forward_ad.unpack_dual(tensor).tangent is not None


def version_of(tensor: Tensor) -> int | None:
    """How often a tensor was changed in place; None where torch does not count."""
    if torch.compiler.is_compiling() or tensor.is_inference():
        return None
    return tensor._version
