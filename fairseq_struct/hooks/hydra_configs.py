"""Makes architectures available in the hydra configs of ``fairseq-hydra-train``.

In ``fairseq-train``, the function of an architecture sets the options that the command line leaves
unset. With a config, fairseq first sets all defaults of the model family, so that this function
finds no unset option: ``model: {_name: udgn_tiny}`` would be as large as ``udgn``.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.hooks.wrapping import wrap


@functools.cache
def install() -> None:
    """Apply this package's architectures in configs, and allow ``model=ARCHITECTURE`` there.

    They must be registered. Model families without a config class have options only on the
    command line. Their architectures refuse configs. Calling this again has no effect.
    """
    from fairseq.dataclass import utils
    from fairseq.models import ARCH_CONFIG_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY as FAMILIES
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    for name, node in _nodes().items():
        store.store(name=name, group="model", node=node, provider="fairseq_struct")
    for name, family in _ours().items():
        if family not in FAMILIES:
            ARCH_CONFIG_REGISTRY[name] = _refusing_configs(name, ARCH_CONFIG_REGISTRY[name])
    wrap(utils, "merge_with_parent", _applying_architectures)


def _ours() -> dict[str, str]:
    """The family of each architecture of this package; families themselves are left out."""
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY as FAMILIES

    return {
        name: ARCH_MODEL_NAME_REGISTRY[name]
        for name, cls in ARCH_MODEL_REGISTRY.items()
        if cls.__module__.startswith("fairseq_struct.") and name not in FAMILIES
    }


def _nodes() -> dict[str, Any]:
    from fairseq.models import ARCH_CONFIG_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY as FAMILIES

    nodes = {}
    for name, family in _ours().items():
        if family in FAMILIES:
            values = _set_by(ARCH_CONFIG_REGISTRY[name], FAMILIES[family])
            nodes[name] = FAMILIES[family](**values)
            nodes[name]._name = name
        else:  # this architecture refuses configs
            nodes[name] = {"_name": name}
    return nodes


def _set_by(architecture, family: type) -> dict[str, Any]:
    """Values that an architecture sets; all MISSING if they may depend on options it only reads."""
    from omegaconf import MISSING

    looked_at = set()

    class Options(argparse.Namespace):
        def __getattr__(self, name):  # called for unset options
            looked_at.add(name)
            raise AttributeError(name)

    options = Options()
    architecture(options)
    values = vars(options)
    others = looked_at & set(family.__dataclass_fields__) - set(values)
    return dict.fromkeys(values, MISSING) if others else values


def _applying_architectures(
    merge_with_parent: Callable[..., Any], dataclass: Any, cfg: Any, *args: Any, **kwargs: Any
) -> Any:
    # fairseq looks up this function each time it sets the defaults of a model.
    from fairseq.models import ARCH_CONFIG_REGISTRY

    if (name := cfg.get("_name")) in _ours():
        cfg = _without_missing(cfg)
        ARCH_CONFIG_REGISTRY[name](cfg)
    return merge_with_parent(dataclass, cfg, *args, **kwargs)


def _without_missing(cfg):
    """Copy a config without its MISSING values, with the same parent; the copy accepts new keys."""
    from omegaconf import MISSING, OmegaConf

    said = OmegaConf.to_container(cfg, resolve=False)
    result = OmegaConf.create({name: value for name, value in said.items() if value != MISSING})
    result.__dict__["_parent"] = cfg.__dict__["_parent"]
    return result


def _refusing_configs(name, architecture):
    @functools.wraps(architecture)
    def apply(options):
        # fairseq may read a checkpoint of fairseq-train as a config, but then it has "arch".
        if not isinstance(options, argparse.Namespace) and "arch" not in options:
            raise InputError(
                f"{name} takes its options from the command line of fairseq-train; "
                "fairseq-hydra-train cannot give them"
            )
        architecture(options)

    return apply
