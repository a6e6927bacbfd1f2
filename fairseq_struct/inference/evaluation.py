"""Trained models are applied in evaluation and in float32, whatever is set around them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


@contextmanager
def default_float32() -> Iterator[None]:
    """Let torch make tensors in float32 where nothing else is said.

    The default precision is that of all threads, so it is left alone where it is float32 anyway.
    """
    default = torch.get_default_dtype()
    if default == torch.float32:
        yield
        return
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(default)


def in_evaluation(method: Callable) -> Callable:
    """Let a method of a tool compute without gradients, and with ``self.model`` in evaluation.

    Models are loaded in evaluation. Whoever trains one on puts it into training, where dropout and
    noise would change results. It is in training again when the method returns. The results of a
    generator, those of one batch, are computed at once.
    """

    @functools.wraps(method)
    def evaluated(self, *args, **kwargs):
        training = [module for module in self.model.modules() if module.training]
        try:
            for module in training:
                module.training = False
            with torch.inference_mode(), default_float32():
                found = method(self, *args, **kwargs)
                return iter([*found]) if inspect.isgeneratorfunction(method) else found
        finally:
            for module in training:
                module.training = True

    return evaluated
