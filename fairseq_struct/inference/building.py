"""Builds the task and the model of a checkpoint's options, which may be damaged or forged."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch import nn

from fairseq_struct.data.prepared.vocabulary.dictionary_file import check_dictionary
from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.checkpoint_file import name_in, require_finite
from fairseq_struct.files.trained_data import data_of_training
from fairseq_struct.files.without_memory import without_memory

# Filters of warnings are those of all threads.
_filters = threading.Lock()


def place_of_data(cfg: Mapping, checkpoint: str | Path) -> Path | None:
    """Where the data of a checkpoint are now: see :func:`.data_of_training`."""
    with _options_of(checkpoint):
        return data_of_training(cfg, checkpoint)


def build_task(cfg: Mapping, checkpoint: str | Path):
    """Build the task, with the dictionaries in the folder ``cfg["task"]["data"]``, if it has one.

    Raises:
        InputError: the task or the folder does not exist, or a dictionary is damaged.
    """
    from fairseq.tasks import TASK_REGISTRY, setup_task

    _registered("task", cfg, TASK_REGISTRY, checkpoint)
    with _options_of(checkpoint):
        if "data" not in cfg["task"]:
            return setup_task(cfg["task"])
        folder = Path(str(cfg["task"].get("data")))
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, but the dictionaries must be in it")
    for path in sorted(folder.glob("dict*.txt")):
        check_dictionary(path)
    with _options_of(checkpoint):
        return setup_task(cfg["task"])


def build_model(cfg: Mapping, task, state: dict, checkpoint: str | Path) -> nn.Module:
    """Build the model and load its parameters.

    Options may request any size. So the model is first built without memory (torch's device
    ``meta``). It is then built with memory only if its parameters match the checkpoint.

    Args:
        cfg: the options.
        task: the task of these options.
        state: the content of the checkpoint.
        checkpoint: path of the checkpoint.

    Raises:
        InputError: the model does not exist, it cannot be built from the options, its parameters
            do not match the checkpoint, or they are not finite.
    """
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    _registered("model", cfg, {**ARCH_MODEL_REGISTRY, **MODEL_REGISTRY}, checkpoint)
    most = 2 * len(state["model"]) + 100
    with _options_of(checkpoint), _at_most(most), without_memory():
        model = task.build_model(cfg["model"])
    with _filters, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*copying from a non-meta parameter")
        _fill(model, cfg, state, checkpoint)
    model = task.build_model(cfg["model"])
    _fill(model, cfg, state, checkpoint)
    require_finite(dict(model.named_parameters()), checkpoint)
    return model


def _fill(model: nn.Module, cfg: Mapping, state: dict, checkpoint: str | Path):
    try:
        model.load_state_dict(state["model"], strict=True, model_cfg=cfg["model"])
    except RuntimeError as error:
        raise InputError(
            f"{checkpoint}: does not fit its options and the dictionaries in "
            f"{cfg['task'].get('data')} ({str(error).splitlines()[-1].strip()})"
        ) from None


def _registered(group: str, cfg: Mapping, registry: Mapping, checkpoint: str | Path):
    name = name_in(cfg[group])
    if name not in registry:
        with _options_of(checkpoint):
            common = cfg.get("common")
            folder = common.get("user_dir") if isinstance(common, Mapping) else None
        # The folder is only named: a checkpoint must not decide which code runs.
        hint = f"; it was trained with --user-dir {folder}; give that option" if folder else ""
        raise InputError(
            f"{checkpoint}: its {group} {name!r} is not registered here"
            f"{suggestion(name, registry) or hint}"
        )


@contextmanager
def _options_of(checkpoint: str | Path) -> Iterator[None]:
    # Options that no training wrote may raise any exception; the error keeps its cause.
    try:
        yield
    except InputError as error:
        raise InputError(f"{checkpoint}: {error}") from None
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or error}: no such file") from None
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{checkpoint}: no model can be built from its options ({type(error).__name__}: {said})"
        ) from error


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Refuse to build modules with more than ``count`` parameters."""
    built = 0

    def registered(module, name, parameter):
        nonlocal built
        built += 1
        if built > count:
            raise InputError("its options ask for more layers than it has")

    hook = nn.modules.module.register_module_parameter_registration_hook(registered)
    try:
        yield
    finally:
        hook.remove()
