"""Trained models are applied in evaluation and in float32, whatever is set around them."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

# The default precision, filters of warnings and the random state are those of all threads. What
# holds this may load or apply another model meanwhile.
OF_ALL_THREADS = threading.RLock()
_switching = threading.Lock()  # of the three below; held for a moment
_changed: list[torch.dtype] = []  # default precisions that are to come back
_users: dict[nn.Module, int] = {}  # of modules in use
_going_back: set[nn.Module] = set()  # those that are to be in training again


@contextmanager
def default_float32() -> Iterator[None]:
    """Let torch make tensors in float32 where nothing else is said.

    It is left alone where it is float32 anyway; otherwise, threads take turns.
    """
    with _switching:
        is_float32 = torch.get_default_dtype() == torch.float32 and not _changed
    if is_float32:
        yield
        return
    with OF_ALL_THREADS:
        with _switching:
            _changed.append(torch.get_default_dtype())
            torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            with _switching:
                torch.set_default_dtype(_changed.pop())


@contextmanager
def evaluation_of(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation, each of its modules until the last one that uses it is done.

    Args:
        model: those of its modules that are in training are in training again afterwards.
    """
    modules = list(model.modules())
    with _switching:
        for module in modules:
            _users[module] = _users.get(module, 0) + 1
            if module.training:
                _going_back.add(module)
                module.training = False
    try:
        yield
    finally:
        with _switching:
            for module in modules:
                _users[module] -= 1
                if not _users[module]:
                    del _users[module]
                    module.training = module in _going_back
                    _going_back.discard(module)


def in_evaluation(method: Callable) -> Callable:
    """Let a method of a tool compute without gradients, and with ``self.model`` in evaluation.

    Models are loaded in evaluation. Whoever trains one on puts it into training, where dropout and
    noise would change results. It is in training again when the method returns. The results of a
    generator, those of one batch, are computed at once.
    """

    @functools.wraps(method)
    def evaluated(self, *args, **kwargs):
        with evaluation_of(self.model), torch.inference_mode(), default_float32():
            found = method(self, *args, **kwargs)
            return iter([*found]) if inspect.isgeneratorfunction(method) else found

    return evaluated
