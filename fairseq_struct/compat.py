"""The only file that knows about versions of fairseq, torch and numpy.

Since torch 2.6, ``torch.load`` unpickles with ``weights_only=True``: it builds tensors and plain
containers and refuses every other class or function, so a checkpoint cannot run code. fairseq is
older. It stores its options as an ``argparse.Namespace``, and it stores numpy numbers if it has
computed a metric such as BLEU with numpy. Then training works, but resuming and generating do not.
This module allows exactly these harmless types. Everything else is refused, with a message that
names the file and the refused class.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.metadata
import logging
import os
import platform
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from fairseq_struct.errors import DependencyError, InputError, first_line
from fairseq_struct.files import checkpoint_file

TORCH_MINIMUM = (2, 6)
# All builds of fairseq are imported as ``fairseq``. Two builds work. One has wheels, but only for
# these interpreters on x86-64 Linux. The other one has only its source.
FAIRSEQ_BUILDS = {"ve-fairseq": "ve-fairseq==0.12.3", "fairseq-fixed": "fairseq-fixed==0.12.3.1"}
PYTHONS_WITH_WHEELS = ((3, 11), (3, 12))


def fairseq_requirement(build: str = "") -> str:
    """Name the fairseq to install here, as ``setup.cfg`` does by environment markers.

    Args:
        build: one of ``FAIRSEQ_BUILDS``; if empty, the build with wheels, if they fit here.
    """
    has_wheels = (
        sys.version_info[:2] in PYTHONS_WITH_WHEELS
        and sys.implementation.name == "cpython"
        and (sys.platform, platform.machine()) == ("linux", "x86_64")
    )
    return FAIRSEQ_BUILDS[build or ("ve-fairseq" if has_wheels else "fairseq-fixed")]


def installed_fairseq() -> list[str]:
    """Name all distributions of fairseq that are installed, as ``name==version``.

    They overwrite each other's files, so an installation with more than one needs a repair.
    """
    found = []
    for name in (*FAIRSEQ_BUILDS, "fairseq"):
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _install_line(requirement: str) -> str:
    if requirement == FAIRSEQ_BUILDS["ve-fairseq"]:
        return f"pip install {requirement}"
    # The source compiles against the torch that is already installed; with build isolation pip
    # would download a second, CUDA-enabled one.
    return (
        "pip install torch numpy cython setuptools wheel"
        f" && pip install --no-build-isolation {requirement}"
    )


INSTALL_LINE = _install_line(fairseq_requirement())
# All distributions of fairseq share one import name, so the broken one is removed first.
REINSTALL_LINE = f"pip uninstall -y fairseq fairseq-fixed ve-fairseq && {INSTALL_LINE}"


@functools.cache
def prepare() -> None:
    """Make the installed fairseq and torch work together; calling it again does nothing.

    Raises:
        DependencyError: fairseq, torch or numpy is missing, broken or too old.
    """
    allow_checkpoint_types()
    _restore_numpy_names()
    checkpoint_utils = _import_fairseq()
    checkpoint_utils.load_checkpoint_to_cpu = _with_clear_messages(
        checkpoint_utils.load_checkpoint_to_cpu
    )
    workers = importlib.import_module("fairseq.distributed.utils")
    workers.broadcast_object = _as_safe_as_files(workers)
    _quieten_numba()


@functools.cache
def allow_checkpoint_types() -> None:
    """Allow torch's safe unpickler the few types that fairseq puts in every checkpoint.

    Raises:
        DependencyError: torch or numpy is missing or too old.
    """
    torch = _import_torch()
    torch.serialization.add_safe_globals([argparse.Namespace, *_numpy_globals()])


def load_state(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint file as it is on disk, on the CPU, without importing fairseq.

    Args:
        path: a file written by fairseq or by ``torch.save``.

    Returns:
        The dictionary that was saved.

    Raises:
        InputError: the file is missing or damaged, does not hold a dictionary, or requests a class
            or function that checkpoints do not need.
    """
    allow_checkpoint_types()
    torch = _import_torch()
    checkpoint_file.look_at(path)
    try:
        with checkpoint_file.refusing(path):
            # Explicit, so that no environment variable of torch can turn it off.
            state = torch.load(path, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except (*_OF_BYTES, RuntimeError):
        raise checkpoint_file.no_checkpoint(path) from None
    if not isinstance(state, dict):
        raise InputError(f"{path}: holds a {type(state).__name__}, not a checkpoint's dictionary")
    return state


def _import_torch() -> ModuleType:
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise DependencyError(
            f"torch cannot be imported ({error})", "pip install 'torch>=2.6'"
        ) from error
    found = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if found < TORCH_MINIMUM:
        raise DependencyError(
            f"torch {torch.__version__} is too old, because it does not load checkpoints safely",
            "pip install --upgrade 'torch>=2.6'",
        )
    return torch


def _restore_numpy_names():
    """Restore ``np.compat.long``, which fairseq's datasets need and numpy 2 removed."""
    numpy = importlib.import_module("numpy")
    if not hasattr(numpy, "compat"):
        numpy.compat = SimpleNamespace(long=int)


def _import_fairseq() -> ModuleType:
    # Importing fairseq prints advice about a text-to-speech extra that nothing here uses.
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    # One of its modules turns on the debugging messages of every library.
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        importlib.import_module("fairseq")
        module = importlib.import_module("fairseq.checkpoint_utils")
        root.setLevel(level)
        root.handlers[:] = handlers
        return module
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "fairseq":
            raise DependencyError("fairseq is not installed", INSTALL_LINE) from None
        raise DependencyError(_describe_broken_fairseq(error), REINSTALL_LINE) from error


def _quieten_numba():
    # fairseq-generate turns on the debugging messages of every library before it loads a plugin,
    # and Numba writes thousands of them for each kernel.
    logger = logging.getLogger("numba")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _describe_broken_fairseq(error: Exception) -> str:
    reason = f"{type(error).__name__}: {first_line(error)}"
    try:
        official = importlib.metadata.version("fairseq")
    except importlib.metadata.PackageNotFoundError:
        return f"fairseq is installed but cannot be imported ({reason})"
    # Its config classes use mutable dataclass defaults, an error since Python 3.11. The maintained
    # builds have other distribution names.
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"the official fairseq {official} cannot be imported on Python {python} ({reason})"


def _numpy_globals() -> list[Any]:
    try:
        np = importlib.import_module("numpy")
    except ImportError as error:
        raise DependencyError(f"numpy cannot be imported ({error})", "pip install numpy") from error
    # The objects themselves give numpy's two private constructors in any version.
    constructors = (np.float64(0).__reduce__()[0], np.zeros(0).__reduce__()[0])
    # numpy 2 moved its core; a checkpoint has the module name of the numpy that wrote it.
    named = [
        (constructor, f"{module}.{constructor.__name__}")
        for constructor in constructors
        for module in ("numpy._core.multiarray", "numpy.core.multiarray")
    ]
    # torch also checks the class of every dtype it restores. Only numbers and booleans are allowed:
    # a checkpoint needs no arrays of objects.
    kinds = "? b h i l q B H I L Q e f d".split()
    dtype_classes = list(dict.fromkeys(type(np.dtype(kind)) for kind in kinds))
    return [*named, np.ndarray, np.dtype, *dtype_classes]


def _with_clear_messages(load: Callable[..., Any]) -> Callable[..., Any]:
    # fairseq leaves weights_only at torch's default. The default is on, unless an environment
    # variable of torch turns it off. For checkpoints it must stay on.
    @functools.wraps(load)
    def load_checkpoint_to_cpu(path: str, *args: Any, **kwargs: Any) -> Any:
        if os.path.exists(path):  # otherwise fairseq downloads it or reports it
            checkpoint_file.look_at(path)
        unforced = _without_variable("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
        try:
            with checkpoint_file.refusing(path), unforced:
                return load(path, *args, **kwargs)
        except InputError:
            raise
        except (*_OF_BYTES, RuntimeError):
            load_state(path)  # raises a clear error if this is not a checkpoint
            raise

    return load_checkpoint_to_cpu


def _as_safe_as_files(workers: ModuleType) -> Callable[..., Any]:
    # With several workers, the first one reads the checkpoint and sends it to the others. Received
    # objects follow the same rules as files: options are plain containers.
    broadcast, torch = workers.broadcast_object, _import_torch()
    omega = importlib.import_module("omegaconf").OmegaConf

    @functools.wraps(broadcast)
    def broadcast_object(state: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state, dict) and omega.is_config(state.get("cfg")):
            plain = omega.to_container(state["cfg"], resolve=True, enum_to_str=True)
            state = {**state, "cfg": plain}
        with torch.serialization.safe_globals([workers._TensorPlaceholder]):
            state = broadcast(state, *args, **kwargs)
        if isinstance(state, dict) and isinstance(state.get("cfg"), dict):
            state["cfg"] = omega.create(state["cfg"], flags={"allow_objects": True})
        return state

    return broadcast_object


@contextlib.contextmanager
def _without_variable(name: str) -> Iterator[None]:
    value = os.environ.pop(name, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[name] = value


# Errors of torch for text or other bytes that it reads as a pickle.
_OF_BYTES = (LookupError, ValueError, TypeError, AttributeError, AssertionError, struct.error)
