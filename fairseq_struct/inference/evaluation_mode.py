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
_switching = threading.Lock()  # of the two below; held for a moment
_changed: list[torch.dtype] = []  # default precisions that are to come back
# Models in use, with their modules that go back into training, and the number of users.
_evaluated: dict[nn.Module, tuple[list[nn.Module], int]] = {}


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
    """Put a model into evaluation, until the last thread that uses it is done.

    Args:
        model: those of its modules that are in training are in training again afterwards.
    """
    with _switching:
        training, users = _evaluated.get(model) or (list(filter(_in_training, model.modules())), 0)
        _evaluated[model] = training, users + 1
        for module in training:
            module.training = False
    try:
        yield
    finally:
        with _switching:
            training, users = _evaluated.pop(model)
            if users > 1:
                _evaluated[model] = training, users - 1
            else:
                for module in training:
                    module.training = True


def _in_training(module: nn.Module) -> bool:
    return module.training


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
