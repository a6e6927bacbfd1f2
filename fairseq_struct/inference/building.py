"""Task and model that a checkpoint's options describe; the options may be damaged or made up."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from fairseq_struct.data.prepared.dictionary_file import check_dictionary
from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.checkpoint_file import name_in


def build_task(cfg: Mapping, checkpoint: str | Path):
    """The task, with the dictionaries in the folder that ``cfg["task"]["data"]`` names.

    Raises:
        InputError: there is no such task or folder, or one of its dictionaries is damaged.
    """
    from fairseq.tasks import TASK_REGISTRY, setup_task

    _registered("task", cfg, TASK_REGISTRY, checkpoint)
    with _options_of(checkpoint):
        folder = Path(str(cfg["task"].get("data")))
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, and the dictionaries are in it; name another")
    for path in sorted(folder.glob("dict*.txt")):
        check_dictionary(path)
    with _options_of(checkpoint):
        return setup_task(cfg["task"])


def build_model(cfg: Mapping, task, state: dict, checkpoint: str | Path) -> nn.Module:
    """The model with its parameters.

    Options may ask for any size. So it is built without memory first (torch's device ``meta``),
    and for good only if its parameters are those of the checkpoint.

    Args:
        cfg: the options.
        task: that they describe.
        state: what the checkpoint holds.
        checkpoint: its path.

    Raises:
        InputError: there is no such model, the options make none, its parameters are others, or
            they are not finite.
    """
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    _registered("model", cfg, {**ARCH_MODEL_REGISTRY, **MODEL_REGISTRY}, checkpoint)
    most = 2 * len(state["model"]) + 100
    with _options_of(checkpoint), _at_most(most), torch.device("meta"):
        model = task.build_model(cfg["model"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*copying from a non-meta parameter")
        _fill(model, cfg, state, checkpoint)
    model = task.build_model(cfg["model"])
    _fill(model, cfg, state, checkpoint)
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise InputError(f"{checkpoint}: {name} is not finite; its training has diverged")
    return model


def _fill(model: nn.Module, cfg: Mapping, state: dict, checkpoint: str | Path):
    try:
        model.load_state_dict(state["model"], strict=True, model_cfg=cfg["model"])
    except RuntimeError as error:
        raise InputError(
            f"{checkpoint}: does not fit its options and the dictionaries in "
            f"{cfg['task']['data']} ({str(error).splitlines()[-1].strip()})"
        ) from None


def _registered(group: str, cfg: Mapping, registry: Mapping, checkpoint: str | Path):
    name = name_in(cfg[group])
    if name not in registry:
        with _options_of(checkpoint):
            common = cfg.get("common")
            folder = common.get("user_dir") if isinstance(common, Mapping) else None
        # Named, not imported: a checkpoint has no say over what code is run.
        hint = f"; it was trained with --user-dir {folder}, name that" if folder else ""
        raise InputError(
            f"{checkpoint}: is of the {group} {name!r}, which is not registered here"
            f"{suggestion(name, registry) or hint}"
        )


@contextmanager
def _options_of(checkpoint: str | Path) -> Iterator[None]:
    # What options raise that no training has is anything; the cause stays with the error.
    try:
        yield
    except InputError as error:
        raise InputError(f"{checkpoint}: {error}") from None
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or error}: no such file") from None
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{checkpoint}: nothing can be built of its options ({type(error).__name__}: {said})"
        ) from error


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Stop building modules when they have more parameters than so many."""
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
