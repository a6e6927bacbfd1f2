"""The presets with which other classifiers stand beside Ordered Memory in its tables."""

from argparse import Namespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_NAME_REGISTRY,
    MODEL_DATACLASS_REGISTRY,
    build_model,
)
from omegaconf import OmegaConf
from small_lists import WORDS, batch_of_lists

from fairseq_struct import plugin
from fairseq_struct.errors import InputError

plugin.load()
# Architecture, options, sentences, labels, size of words and of the perceptron, stored layers.
PRESETS = [
    ("recurrent_classifier_listops", {}, 1, 10, 128, None),
    ("recurrent_classifier_listops", {"cell": "lstm"}, 1, 10, 128, None),
    ("tree_classifier_proplogic", {"cell": "tree_rnn"}, 2, 7, 200, None),
    ("tree_classifier_listops", {"cell": "tree_cell"}, 1, 10, 128, None),
    ("beam_tree_classifier_proplogic", {}, 2, 7, 200, None),
    ("beam_tree_classifier_listops", {"beam": 2}, 1, 10, 128, None),
    ("transformer_classifier_proplogic", {}, 2, 7, 200, 12),
    ("transformer_classifier_listops", {}, 1, 10, 128, 21),
    ("transformer_classifier_listops", {"universal": True}, 1, 10, 128, 1),
]


def build(arch, labels=3, **options):
    dictionary = Dictionary()
    for word in WORDS:
        dictionary.add_symbol(word)
    task = Namespace(words=dictionary, label_names=[str(label) for label in range(labels)],
                     own_criterion="structured_classification")  # fmt: skip
    chosen = Namespace(**options)
    ARCH_CONFIG_REGISTRY[arch](chosen)
    defaults = vars(MODEL_DATACLASS_REGISTRY[ARCH_MODEL_NAME_REGISTRY[arch]]())
    return build_model(OmegaConf.create({**defaults, **vars(chosen), "_name": arch}), task)


@pytest.mark.parametrize(("arch", "options", "sides", "labels", "size", "layers"), PRESETS)
def test_presets_have_the_sizes_of_ordered_memory(arch, options, sides, labels, size, layers):
    model = build(arch, labels, **options)
    network = model.network
    assert model.sides == sides
    assert network.embedding.embedding_dim == network.output[1].out_features == size
    assert layers is None or len(network.layers) == layers
    data = batch_of_lists(2, sides)
    gold = {"gold_trees": data.gold_trees} if model.gold_kind else {}
    with torch.no_grad():
        output = model(data.tokens, data.lengths, data.targets % labels, **gold)
    assert output.logits.shape == (2, labels) and output.losses.isfinite().all()


@pytest.mark.parametrize(
    ("arch", "options", "message"),
    [
        ("recurrent_classifier", {"layers": 0}, "--layers must be 1 or more, not 0"),
        ("tree_classifier", {"embed_dim": 0}, "--embed-dim must be 1 or more, not 0"),
        ("tree_classifier", {"dropout": 1.0}, "--dropout must be 0 or more and below 1"),
        ("tree_classifier", {"sides": 3}, "reads one sentence or two, not 3"),
        ("beam_tree_classifier", {"beam": 0}, "--beam must be 1 or more, not 0"),
        ("beam_tree_classifier", {"beam_noise": -1.0}, "--beam-noise must be 0 or more, not -1"),
        ("beam_tree_classifier", {"beam_noise": float("inf")}, "--beam-noise must be 0 or more"),
        ("beam_tree_classifier", {"beam": 1, "one_soft": True}, "OneSoft needs a beam of 2"),
        ("beam_tree_classifier", {"dropout": -0.1}, "--dropout must be 0 or more and below 1"),
        ("beam_tree_classifier", {"sides": 3}, "reads one sentence or two, not 3"),
        ("transformer_classifier", {"heads": 0}, "--heads must be 1 or more, not 0"),
        ("transformer_classifier", {"heads": 9}, "a multiple of the 9 heads"),
    ],
)
def test_options_out_of_range_are_refused(arch, options, message):
    with pytest.raises(InputError, match=message):
        build(arch, **options)
