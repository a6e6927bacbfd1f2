"""Hydra's configs have the architectures of fairseq-train, selectable as groups."""

import functools

import pytest
from fairseq_commands import start
from omegaconf import OmegaConf

from fairseq_struct import plugin
from fairseq_struct.errors import InputError

plugin.load()
from fairseq import options  # noqa: E402
from fairseq.dataclass import utils  # noqa: E402
from fairseq.dataclass.configs import FairseqConfig  # noqa: E402
from fairseq.dataclass.initialize import add_defaults, hydra_init  # noqa: E402
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # noqa: E402
from fairseq.models import (  # noqa: E402
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_NAME_REGISTRY,
    MODEL_DATACLASS_REGISTRY,
    build_model,
)
from hydra import compose, initialize_config_module  # noqa: E402

ARCHITECTURES = plugin.registered()["architectures"]
WITH_CONFIG = [
    name for name in ARCHITECTURES if ARCH_MODEL_NAME_REGISTRY[name] in MODEL_DATACLASS_REGISTRY
]


@functools.cache
def of_fairseq_train(name: str) -> dict:
    """A model's options in fairseq-train, with none given on the command line."""
    args = options.parse_args_and_arch(options.get_training_parser(), ["data", "--arch", name])
    cfg = convert_namespace_to_omegaconf(args)
    add_defaults(cfg)
    return as_dict(cfg.model)


def as_dict(model) -> dict:
    return OmegaConf.to_container(model, enum_to_str=True)


@pytest.mark.parametrize("name", WITH_CONFIG)
def test_architecture_named_in_a_config_is_that_of_fairseq_train(name):
    cfg = OmegaConf.structured(FairseqConfig)
    cfg.model = {"_name": name}
    add_defaults(cfg)
    assert cfg.model._name == name
    assert as_dict(cfg.model) == of_fairseq_train(name)


def test_what_the_config_says_goes_before_the_architecture():
    cfg = OmegaConf.structured(FairseqConfig)
    cfg.model = {"_name": "udgn_tiny", "layers": 5, "channels": 8}
    add_defaults(cfg)
    assert (cfg.model.layers, cfg.model.channels, cfg.model.channel_size) == (5, 8, 32)


def composed(*overrides: str):
    """Return the config that fairseq-hydra-train composes from its command line."""
    hydra_init()
    with initialize_config_module("fairseq.config", version_base="1.1"):
        return compose("config", list(overrides))


@pytest.mark.parametrize(
    "name", ["udgn", "udgn_tiny", "on_lstm_lm_syneval", "latent_tree_classifier_sst"]
)
def test_architecture_as_a_group(name):
    option, value = next((k, v) for k, v in of_fairseq_train(name).items() if type(v) is int)
    cfg = composed(f"model={name}", f"model.{option}={value + 1}")
    add_defaults(cfg)
    assert as_dict(cfg.model) == {**of_fairseq_train(name), option: value + 1}


@pytest.mark.parametrize(
    ("name", "options", "made"),
    [
        ("latent_tree_classifier_sst", {"latent_method": "ste_identity"},
         {"pullback_step_size": 1 / 32}),
        ("latent_tree_classifier_sst", {"embed_path": "glove.txt"}, {"freeze_embeddings": True}),
        ("latent_tree_entailment_snli", {"latent_method": "spigot_eg"},
         {"pullback_step_size": 0.001 / 64, "entailment_form": "thesis"}),
        ("latent_tree_entailment_snli", {"latent_method": "spigot_eg", "pullback_step_size": 0.5},
         {"pullback_step_size": 0.5}),
    ],
)  # fmt: skip
def test_an_architecture_as_a_group_looks_at_other_options(name, options, made):
    cfg = composed(f"model={name}", *(f"model.{k}={v}" for k, v in options.items()))
    add_defaults(cfg)
    assert as_dict(cfg.model) == {**of_fairseq_train(name), **options, **made}


def test_tasks_criterions_and_optimizers_as_groups():
    groups = {"task": "structured_masked_lm", "criterion": "latent_clusters"}
    groups["optimizer"] = "nt_asgd"
    cfg = composed(*(f"{group}={name}" for group, name in groups.items()))
    assert {group: cfg[group]._name for group in groups} == groups


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - set(WITH_CONFIG)))
def test_architecture_without_config_class_refuses_one(name):
    cfg = composed(f"model={name}")
    add_defaults(cfg)
    with pytest.raises(InputError, match=f"{name} takes its options from the command line"):
        build_model(cfg.model, task=None)


def test_registering_again_changes_nothing():
    before = utils.merge_with_parent, dict(ARCH_CONFIG_REGISTRY)
    plugin.load()
    assert before == (utils.merge_with_parent, ARCH_CONFIG_REGISTRY)


def test_bad_input_is_one_line_in_place_of_a_traceback(tmp_path):
    process = start(
        "fairseq-struct", "hydra-train", "model=udgn_tiny", "task=structured_masked_lm",
        "criterion=structured_masked_lm", "optimizer=adam", "lr_scheduler=fixed",
        f"task.data={tmp_path}/none", "dataset.batch_size=8", f"hydra.run.dir={tmp_path}",
        f"checkpoint.save_dir={tmp_path}/run",
    )  # fmt: skip
    output, _ = process.communicate()
    assert process.returncode == 2 and "Traceback" not in output
    assert output.splitlines()[-1].startswith(f"error: {tmp_path}/none/dict.txt: no such file")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("optimization.max_updat=3", "max_updat"),
        ("optimization.max_update=abc", "abc"),
        ("optimization.max_update=3", "give dataset.batch_size or dataset.max_tokens"),
    ],
)
def test_an_override_that_does_not_fit_is_one_line(override, told, tmp_path):
    process = start("fairseq-struct", "hydra-train", "task=structured_masked_lm", override,
                    f"hydra.run.dir={tmp_path}")  # fmt: skip
    output, _ = process.communicate()
    last = output.splitlines()[-1]
    assert process.returncode == 2 and "Traceback" not in output
    assert last.startswith("error: ") and told in last
