"""Networks that a file describes: built without memory first, to see whether they fit it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from fairseq_struct.errors import InputError, first_line

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


def model_of(task: Any, cfg: Mapping, parameters: Mapping, place: str | Path) -> nn.Module:
    """Build the model of a checkpoint, and load its parameters.

    Options may request any size. So the model is first built without memory. It is then built with
    memory only if its parameters match those of the checkpoint.

    Args:
        task: fairseq's task of these options.
        cfg: the options.
        parameters: by name.
        place: the checkpoint, for messages.

    Raises:
        InputError: the model cannot be built from the options, or the parameters do not fit it.
    """
    with foreign_options(place), _at_most(2 * len(parameters) + 100), without_memory():
        model = task.build_model(cfg["model"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*copying from a non-meta parameter")
        _fill(model, cfg, parameters, place)
    with foreign_options(place):
        model = task.build_model(cfg["model"])
    _fill(model, cfg, parameters, place)
    return model


def _fill(model: nn.Module, cfg: Mapping, parameters: Mapping, place: str | Path):
    try:
        model.load_state_dict(parameters, strict=True, model_cfg=cfg["model"])
    except RuntimeError as error:
        raise InputError(
            f"{place}: does not fit its options and the dictionaries in "
            f"{cfg['task'].get('data')} ({str(error).splitlines()[-1].strip()})"
        ) from None


@contextmanager
def foreign_options(place: str | Path) -> Iterator[None]:
    """Turn whatever is raised by options that no training wrote into one line.

    Args:
        place: the checkpoint, for messages.

    Raises:
        InputError: the block raises an exception, which stays its cause.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or error}: no such file") from None
    except Exception as error:
        raise InputError(
            f"{place}: no model can be built from its options "
            f"({type(error).__name__}: {first_line(error)})"
        ) from error


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Refuse to build modules with more than ``count`` parameters."""
    built, thread = 0, threading.get_ident()

    def registered(module, name, parameter):
        nonlocal built
        if threading.get_ident() != thread:  # torch calls this for modules of every thread
            return
        built += 1
        if built > count:
            raise InputError("its options ask for more layers than it has")

    hook = nn.modules.module.register_module_parameter_registration_hook(registered)
    try:
        yield
    finally:
        hook.remove()
