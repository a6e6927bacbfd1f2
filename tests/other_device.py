"""A device that is not the CPU, played by tensors of the CPU: mixed devices show without a GPU.

A :class:`There` has the numbers of a CPU tensor and says that it is elsewhere (on torch's device
``meta``, the only other one that every build of torch has). An operation on it runs on the CPU, and
raises where a GPU would, if another tensor is not there, too. What is asked for on that device is
there. ``numpy()`` fails, as it does on a GPU.
"""

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE, CPU = torch.device("meta"), torch.device("cpu")
# These also take indices, lengths or targets from the CPU.
BETWEEN_DEVICES = {"index", "index_put", "unsafe_index", "copy", "to_copy", "pack_padded_sequence"}
# The second result of this stays on the CPU.
LENGTHS_STAY = "_pack_padded_sequence"


class There(torch.Tensor):
    """A tensor that is elsewhere, with the numbers ``here``."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor):
        made = torch.Tensor._make_wrapper_subclass(
            cls, here.shape, strides=here.stride(), storage_offset=here.storage_offset(),
            dtype=here.dtype, device=DEVICE,
        )  # fmt: skip
        made.here = here
        return made

    __torch_dispatch__ = classmethod(
        lambda cls, function, types, arguments=(), options=None: _run(
            function, arguments, options or {}
        )
    )


class _Asked(TorchDispatchMode):
    """What is made on the device without another tensor that is there."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        return _run(function, arguments, options or {})


def to_device(tensor: torch.Tensor) -> There:
    """A copy that is there."""
    return There(tensor.detach().clone())


def from_device(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a tensor, wherever it is."""
    return tensor.here if isinstance(tensor, There) else tensor


def module_to_device(module: torch.nn.Module) -> torch.nn.Module:
    """Move all parameters and buffers; shared ones stay shared."""
    moved = {}
    for part in module.modules():
        for name, own in part._parameters.items():
            if own is not None and own not in moved:
                moved[own] = torch.nn.Parameter(to_device(own), own.requires_grad)
            part._parameters[name] = moved.get(own)
        for name, own in part._buffers.items():
            part._buffers[name] = None if own is None else to_device(own)
    return module


@contextlib.contextmanager
def other_device() -> Iterator[None]:
    """Within it the device exists."""
    with contextlib.ExitStack() as stack:
        for owner, name, stand_in in (
            (torch, "tensor", _made), (torch, "as_tensor", _made),
            (torch, "Generator", _generator), (torch, "autocast", _autocast),
            (torch, "is_autocast_enabled", _is_autocast_enabled),
            (torch.Tensor, "tolist", _tolist), (torch.Tensor, "new_tensor", _new_tensor),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(owner, name, stand_in(getattr(owner, name))))
        stack.enter_context(_Asked())
        yield


def _is_there(device) -> bool:
    return device is not None and torch.device(device).type == DEVICE.type


def _run(function, arguments, options):
    name = function.overloadpacket.__name__
    tensors = [leaf for leaf in tree_leaves((arguments, options)) if isinstance(leaf, torch.Tensor)]
    there = any(isinstance(tensor, There) for tensor in tensors)
    others = [tensor for tensor in tensors if not isinstance(tensor, There) and tensor.dim()]
    if there and others and name.strip("_") not in BETWEEN_DEVICES:
        sizes = [tuple(tensor.shape) for tensor in others]
        raise RuntimeError(f"{name}: tensors of sizes {sizes} are on the CPU, others are elsewhere")
    if "device" in options and options["device"] is not None:
        there, options = _is_there(options["device"]), {**options, "device": CPU}
    found = function(*tree_map(_here, arguments), **tree_map(_here, options))
    if name.endswith("_") and not name.endswith("__"):  # changes its first argument in place
        return arguments[0]
    if not there:
        return found
    if name == LENGTHS_STAY:
        return There(found[0]), found[1]
    return tree_map(lambda part: There(part) if isinstance(part, torch.Tensor) else part, found)


def _here(leaf):
    return from_device(leaf) if isinstance(leaf, torch.Tensor) else leaf


# Stand-ins for what does not reach the dispatcher.
def _made(own):
    def made(data, *arguments, device=None, **options):
        if isinstance(data, There):
            return data.to(**options) if options else data
        found = own(data, *arguments, device=None if _is_there(device) else device, **options)
        return There(found) if _is_there(device) else found

    return made


def _new_tensor(own):
    def new_tensor(self, data, **options):
        found = own(from_device(self), data, **options)
        return There(found) if isinstance(self, There) else found

    return new_tensor


def _tolist(own):
    return lambda self: own(from_device(self))


def _generator(own):
    class Generator(own):
        def __new__(cls, device="cpu"):
            return own()

    return Generator


def _autocast(own):
    class Autocast(own):
        def __new__(cls, device_type, *arguments, **options):
            if _is_there(device_type):
                return contextlib.nullcontext()
            return own(device_type, *arguments, **options)

    return Autocast


def _is_autocast_enabled(own):
    return lambda *kind: not (kind and _is_there(kind[0])) and own(*kind)
