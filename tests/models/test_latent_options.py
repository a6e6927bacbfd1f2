"""Models with a latent structure have the same options, from one dataclass."""

import argparse
from dataclasses import fields

import pytest

from fairseq_struct import plugin

plugin.load()
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY  # noqa: E402

from fairseq_struct.models.shared.latent_options import (  # noqa: E402
    LatentStructureConfig,
    LatentTreeConfig,
)

OWN = {"latent_method", "pullback_step_size"}  # their help depends on the model


def options_of(arch):
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("model", argument_default=argparse.SUPPRESS)
    ARCH_MODEL_REGISTRY[arch].add_args(group)
    return parser, {action.dest: action for action in parser._actions}


@pytest.mark.parametrize(
    ("arch", "shared"),
    [
        ("latent_tree_classifier", LatentTreeConfig),
        ("latent_tree_entailment", LatentTreeConfig),
        ("latent_tree_transformer", LatentTreeConfig),
        ("latent_clusters", LatentStructureConfig),
    ],
)
def test_shared_options_are_the_same_everywhere(arch, shared):
    parser, options = options_of(arch)
    for option in fields(shared):
        if option.name == "_name":
            continue
        action = options[option.name]
        assert action.option_strings == [f"--{option.name.replace('_', '-')}"]
        if option.name not in OWN:
            assert action.help == option.metadata["help"]
    args = parser.parse_args(["--pullback-steps=3", "--temperature=0.5"])
    assert (args.pullback_steps, args.temperature) == (3, 0.5)
    assert not hasattr(args, "latent_method")  # filled in by the architecture


def test_the_translation_model_takes_its_defaults_from_the_dataclass():
    parser, options = options_of("latent_tree_transformer")
    args = parser.parse_args(["--single-root", "--sparsemap-steps=9"])
    ARCH_CONFIG_REGISTRY["latent_tree_transformer"](args)
    expected = {option.name: option.default for option in fields(LatentTreeConfig)}
    expected |= {"single_root": True, "sparsemap_steps": 9}
    del expected["_name"]
    assert {name: getattr(args, name) for name in expected} == expected
