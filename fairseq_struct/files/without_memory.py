"""Networks that a file describes, without memory, to see whether its parameters fit them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# How initial weights are drawn. Those of ``nn.init`` call the others.
_DRAWS = {
    nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, Tensor.normal_, Tensor.uniform_,
    Tensor.bernoulli_, Tensor.exponential_, Tensor.random_, Tensor.log_normal_,
}  # fmt: skip
# These make the tensor as well.
_FACTORIES = {torch.randn, torch.rand}


@contextmanager
def without_memory() -> Iterator[None]:
    """Build tensors on PyTorch's device ``meta``, and leave out the draws of their numbers.

    The draws would change nothing there, but PyTorch imports its compiler for them, which takes
    seconds.
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        drawn = args[0] if args else kwargs.get("tensor")
        if func in _DRAWS and drawn.is_meta:
            return drawn
        if func in _FACTORIES and kwargs.get("device") is None:
            return torch.empty(*args, **{k: v for k, v in kwargs.items() if k != "generator"})
        return func(*args, **kwargs)
