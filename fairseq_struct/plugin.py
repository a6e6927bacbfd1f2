"""Registers every model, task and criterion of this package with fairseq."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil

from fairseq_struct import compat
from fairseq_struct.hooks import (
    averaged_weights,
    before_training,
    diverged_training,
    ended_epochs,
    help_of_parts,
    hydra_configs,
    one_tracked_run,
    save_folder,
    several_processes,
    trained_words,
    trainer_checkpoints,
)

ROOMS = ("models", "tasks", "criterions", "optim")
# What is installed before anything registers. Several wrap the same functions of fairseq, and of
# these the later ones are outside.
HOOKS = (
    # Wraps the loading of ``compat``; so it sees the file that was read, also if
    # ``trainer_checkpoints`` has chosen another one than it was asked for.
    trained_words,
    # Tries another file if ``compat`` says that one is damaged.
    trainer_checkpoints,
    # Makes the folder when ``trainer_checkpoints`` has refused nothing.
    save_folder,
    # The rest may have any order.
    before_training,
    averaged_weights,
    one_tracked_run,
    diverged_training,
    ended_epochs,
    several_processes,
    help_of_parts,
)


def load() -> list[str]:
    """Prepare fairseq, then import every module that registers something.

    As everywhere in fairseq, a module registers its parts when it is imported. So a new file in one
    of the rooms is registered without further changes. Calling this again has no effect.

    Returns:
        The names of the imported modules.

    Raises:
        DependencyError: fairseq is missing or broken.
        Exception: any error of an imported module; no error is suppressed.
    """
    compat.prepare()
    for hook in HOOKS:
        hook.install()
    names = registering_modules()
    for name in names:
        importlib.import_module(name)
    hydra_configs.install()  # of what is registered by now
    return names


def registering_modules() -> list[str]:
    """List the modules that register something, without importing them.

    Returns:
        Dotted module names in a stable order: models, tasks, criterions, optim, each by name.
    """
    found = []
    for room in ROOMS:
        package = f"fairseq_struct.{room}"
        spec = importlib.util.find_spec(package)
        if spec is None:
            continue
        found += _files(package, spec.submodule_search_locations)
    return found


def _files(package: str, folders) -> list[str]:
    """The modules of a room, those of its sub-rooms last."""
    found, below = [], []
    for module in sorted(pkgutil.iter_modules(folders), key=lambda module: module.name):
        name = f"{package}.{module.name}"
        if not module.ispkg:
            found.append(name)
        elif module.name != "shared":  # what files of a room share registers nothing
            below += _files(name, [f"{folder}/{module.name}" for folder in folders])
    return found + below


def registered() -> dict[str, list[str]]:
    """Call :func:`load`, and return the names that this package adds to fairseq.

    Returns:
        The sorted names under ``architectures``, ``tasks``, ``criterions``, ``optimizers`` and
        ``lr_schedulers``.

    Raises:
        DependencyError: fairseq is missing or broken.
    """
    load()
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.optim import OPTIMIZER_REGISTRY
    from fairseq.optim.lr_scheduler import LR_SCHEDULER_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    registries = {
        "architectures": ARCH_MODEL_REGISTRY,
        "tasks": TASK_REGISTRY,
        "criterions": CRITERION_REGISTRY,
        "optimizers": OPTIMIZER_REGISTRY,
        "lr_schedulers": LR_SCHEDULER_REGISTRY,
    }
    return {
        kind: sorted(name for name, cls in registry.items() if _is_ours(cls))
        for kind, registry in registries.items()
    }


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "fairseq_struct"
