"""Architectures in the configs of hydra, as ``fairseq-hydra-train`` reads them.

``fairseq-train`` lets the function of an architecture fill in what the command line leaves open.
From a config, fairseq fills in the family's own defaults first, after which that function finds
nothing open: ``model: {_name: udgn_tiny}`` would be as large as ``udgn``.
"""

from __future__ import annotations

import argparse
import functools
from typing import Any

from fairseq_struct.errors import InputError


def register() -> None:
    """Let our architectures apply in configs, and be chosen there by ``model=ARCHITECTURE``.

    Those of families without a config class, whose options only a command line can give, refuse
    configs instead. Calling it again changes nothing.
    """
    from fairseq.dataclass import utils
    from fairseq.models import ARCH_CONFIG_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY as FAMILIES
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    for name, node in _nodes().items():
        store.store(name=name, group="model", node=node, provider="fairseq_struct")
    for name, family in _ours().items():
        function = ARCH_CONFIG_REGISTRY[name]
        if family not in FAMILIES and not hasattr(function, "refuses_configs"):
            ARCH_CONFIG_REGISTRY[name] = _refusing_configs(name, function)
    if not hasattr(utils.merge_with_parent, "applies_architectures"):
        utils.merge_with_parent = _applying_architectures(utils.merge_with_parent)


def _ours() -> dict[str, str]:
    """The family of each architecture of ours that is more than a family's defaults."""
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
        else:  # to be refused
            nodes[name] = {"_name": name}
    return nodes


def _set_by(architecture, family: type) -> dict[str, Any]:
    """What an architecture sets; MISSING where that may depend on options that it only looks at."""
    from omegaconf import MISSING

    looked_at = set()

    class Options(argparse.Namespace):
        def __getattr__(self, name):  # of what is not set
            looked_at.add(name)
            raise AttributeError(name)

    options = Options()
    architecture(options)
    values = vars(options)
    others = looked_at & set(family.__dataclass_fields__) - set(values)
    return dict.fromkeys(values, MISSING) if others else values


def _applying_architectures(merge_with_parent):
    # fairseq looks this function up each time it fills in a model's defaults.
    @functools.wraps(merge_with_parent)
    def merge(dataclass, cfg, *args, **kwargs):
        from fairseq.models import ARCH_CONFIG_REGISTRY

        if (name := cfg.get("_name")) in _ours():
            cfg = _without_missing(cfg)
            ARCH_CONFIG_REGISTRY[name](cfg)
        return merge_with_parent(dataclass, cfg, *args, **kwargs)

    merge.applies_architectures = True
    return merge


def _without_missing(cfg):
    """A config that is open, at the same place, without what is still to be said."""
    from omegaconf import MISSING, OmegaConf

    said = OmegaConf.to_container(cfg, resolve=False)
    result = OmegaConf.create({name: value for name, value in said.items() if value != MISSING})
    result.__dict__["_parent"] = cfg.__dict__["_parent"]
    return result


def _refusing_configs(name, architecture):
    @functools.wraps(architecture)
    def apply(options):
        # A model in a checkpoint of fairseq-train may be read as a config, but it has its arch.
        if not isinstance(options, argparse.Namespace) and "arch" not in options:
            raise InputError(
                f"{name} takes its options from the command line of fairseq-train; "
                "fairseq-hydra-train cannot give them"
            )
        architecture(options)

    apply.refuses_configs = True
    return apply
