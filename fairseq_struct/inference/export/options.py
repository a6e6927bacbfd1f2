"""The options that rebuild a task and a model, as plain values without paths of one machine."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from fairseq_struct.errors import InputError

# How a model reads its options: models of the older kind take a namespace.
KINDS = NAMESPACE, MAPPING = ("namespace", "mapping")
# Options of other groups that models of the older kind read.
OF_OTHER_GROUPS = (
    "_name", "arch", "seed", "max_update", "fp16", "tpu", "max_source_positions",
    "max_target_positions", "tokens_per_sample",
)  # fmt: skip


def plain_options(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The entries ``task``, ``model`` and ``model_options`` of ``config.json``.

    Raises:
        InputError: an option has a value that JSON cannot hold.
    """
    task = _container(cfg["task"])
    if "data" in task:
        task["data"] = None
    if isinstance(cfg["model"], Namespace):
        given, kind = vars(cfg["model"]), NAMESPACE
        own = _names_of(given["_name"])
        model = {name: value for name, value in given.items() if name in own}
    else:
        model, kind = _container(cfg["model"]), MAPPING
    return {"task": _plain(task), "model": _plain(model, kind), "model_options": kind}


def cfg_of(config: Mapping[str, Any]) -> Any:
    """The options of ``config.json`` as fairseq's builders take them.

    Raises:
        InputError: an option has a name or value that no export has.
    """
    from omegaconf import OmegaConf

    if config["model_options"] not in KINDS:
        raise InputError(f"its model options are {config['model_options']!r}")
    for group in ("task", "model"):
        if not isinstance(config[group].get("_name"), str):
            raise InputError(f"names no {group}")
        _check(config[group].items())
    model = config["model"]
    if config["model_options"] == NAMESPACE:
        model = Namespace(**model)
    folder = config.get("user_dir")
    common = {"user_dir": folder if isinstance(folder, str) and _is_plain(folder) else None}
    return OmegaConf.create(
        {"task": config["task"], "model": model, "common": common}, flags={"allow_objects": True}
    )


def _names_of(architecture: str) -> set[str]:
    """Names of the options of a model of the older kind: those it adds, and its presets set."""
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    parser = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
    ARCH_MODEL_REGISTRY[architecture].add_args(parser)
    preset = Namespace()
    ARCH_CONFIG_REGISTRY[architecture](preset)
    return {action.dest for action in parser._actions} | set(vars(preset)) | set(OF_OTHER_GROUPS)


def _container(group: Any) -> dict[str, Any]:
    from omegaconf import OmegaConf

    if OmegaConf.is_config(group):
        return OmegaConf.to_container(group, resolve=True, enum_to_str=True)
    return dict(group)


def _plain(options: Mapping[str, Any], kind: str = MAPPING) -> dict[str, Any]:
    """The same options without paths, for which fairseq takes the default; None in a namespace."""
    found = {}
    for name, value in options.items():
        value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, str) and _is_path(value):
            if kind == NAMESPACE:
                found[name] = None
            continue
        found[name] = value
    try:
        _check(found.items())
    except InputError as error:
        raise InputError(f"cannot be exported: {error}") from None
    return found


def _check(options: Iterable[tuple[Any, Any]]):
    for name, value in options:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise InputError(f"{name!r} is no name of an option")
        if not _is_plain(value):
            raise InputError(f"the option {name} is no number, text without paths, or list of them")


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_plain, value.values()))
    if isinstance(value, str):  # interpolations read other options, or the environment
        return "${" not in value and not _is_path(value)
    return value is None or isinstance(value, int | float)


def _is_path(value: str) -> bool:
    return "/" in value or "\\" in value
