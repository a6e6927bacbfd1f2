"""Trained models are applied in evaluation and in float32, whatever is set around them."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

# The default precision, filters of warnings and the random state are those of all threads. What
# holds this may load or apply another model meanwhile.
OF_ALL_THREADS = threading.RLock()
_changed: list[torch.dtype] = []  # default precisions that are to come back


@contextmanager
def default_float32() -> Iterator[None]:
    """Let torch make tensors in float32 where nothing else is said.

    It is left alone where it is float32 anyway; otherwise, threads take turns.
    """
    if torch.get_default_dtype() == torch.float32 and not _changed:
        yield
        return
    with OF_ALL_THREADS:
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        _changed.append(default)
        try:
            yield
        finally:
            _changed.pop()
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
