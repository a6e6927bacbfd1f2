"""Tensors that do not fit a network: an error that says what is wrong, not a number."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.dmv.counting import no_counts
from fairseq_struct.modules.dmv.estimation import from_counts
from fairseq_struct.modules.dmv.model import DMV
from fairseq_struct.modules.latent_clusters import LatentClassifier
from fairseq_struct.modules.latent_tree.decomposable_attention import DecomposableAttention
from fairseq_struct.modules.masked_lm.head_parser import HeadParser
from fairseq_struct.modules.masked_lm.language_model import TransformerMaskedEncoder
from fairseq_struct.modules.masked_lm.structformer import DistanceParser
from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.option_controller import Cell, CellSizes, OptionPool
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy
from fairseq_struct.modules.option_controller.latent_options import JoinedOptions, LatentOptions
from fairseq_struct.modules.recurrent.classifier import RecurrentClassifier
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers
from fairseq_struct.modules.recurrent_mechanisms import RecurrentMechanisms
from fairseq_struct.modules.transformer_classifier import TransformerClassifier
from fairseq_struct.modules.undirected.attention import UndirectedAttention


def words():
    return nn.Embedding(9, 8)


def classify(network):
    """The network as a function of lengths (batch,)."""
    return lambda lengths: network(
        torch.zeros(len(lengths), network.sides, 4, dtype=torch.long),
        lengths[:, None].expand(-1, network.sides),
    ).logits


def encode(network):
    return lambda lengths: network(torch.zeros(len(lengths), 4, dtype=torch.long), lengths)


READERS = {
    "transformer": classify(TransformerClassifier(words(), 3, 1, 2, 8, sides=1)),
    "attention": classify(DecomposableAttention(words(), 8, 3)),
    "lstm": classify(RecurrentClassifier(words(), (8,), 3, "lstm", sides=1)),
    "on_lstm": classify(RecurrentClassifier(words(), (8,), 3, "on_lstm", 4, sides=1)),
    "masked": encode(TransformerMaskedEncoder(words(), 1, 2, 8, 4)),
    "head_parser": encode(HeadParser(words(), 8, 8, 1)),
    "distances": encode(DistanceParser(words(), 8, 1, 3)),
    "completion": lambda lengths: UndirectedAttention(9, 8)(
        torch.zeros(len(lengths), 4, dtype=torch.long), lengths,
        torch.zeros(len(lengths), 1, dtype=torch.long),
    ),
    "demonstrations": lambda lengths: CompilePolicy(3, 2, 1, 2, 2, 8)(
        torch.zeros(len(lengths), 4, 3), lengths, torch.zeros(len(lengths), dtype=torch.long),
        torch.zeros(len(lengths), 4, dtype=torch.long),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("length", [0, -3, 5])
def test_lengths_that_no_sentence_has(name, length):
    with pytest.raises(ValueError, match=rf"^lengths must be integers between 1 and 4.*{length}"):
        READERS[name](torch.tensor([4, length]))


@pytest.mark.parametrize("name", READERS)
def test_lengths_of_the_sentences(name):
    READERS[name](torch.tensor([4, 1]))
    with pytest.raises(ValueError, match="^lengths must be integers between 1 and 4"):
        READERS[name](torch.tensor([4.0, 1.0]))


def test_sequences_without_steps_are_never_read():
    torch.manual_seed(1)
    layers, found = LSTMLayers(3, [4]), []
    given = torch.randn(5, 3, 3)
    for fill in (0.0, float("nan")):
        given[:, 1] = fill
        result = layers.run(given, lengths=[5, 0, 2])
        total = result.output.square().sum()
        found.append([result.output, *torch.autograd.grad(total, [*layers.parameters()])])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))
    with pytest.raises(ValueError, match="^lengths must be integers between 0 and 5"):
        layers.run(given, lengths=[5, -1, 2])
    with pytest.raises(ValueError, match=r"^lengths must have shape \(3,\), not \(1,\)"):
        layers.run(given, lengths=[5])


@pytest.mark.parametrize("dtype", [torch.uint16, torch.int8])
def test_lengths_of_every_kind_of_integers(dtype):
    torch.manual_seed(1)
    network, given = ONLSTM(3, 4, 2), torch.randn(5, 2, 3)
    expected = network.run(given, lengths=[5, 2]).output
    assert torch.equal(network.run(given, lengths=torch.tensor([5, 2]).to(dtype)).output, expected)


H = torch.zeros(1, 4)


@pytest.mark.parametrize(
    "state", [(H[None].expand(2, 1, 4),), (H[None].expand(2, 1, 4), H[None]), ((H, H), None), 3]
)
def test_states_of_other_layers(state):
    with pytest.raises(ValueError, match="^the state does not fit 2 layers, batch 1"):
        ONLSTM(3, 4, 2).run(torch.zeros(5, 1, 3), state)


def test_states_of_other_units():
    network = RecurrentMechanisms(2, 1, 3, 4, 3)
    zeros, given = torch.zeros(2, 2, 4), torch.zeros(2, 5, 3)
    expected, _ = network(given)
    assert torch.equal(network(given, states=(zeros, zeros))[0], expected)
    for states in ((zeros,), (zeros[:1], zeros[:1]), (zeros[..., :2], zeros)):
        with pytest.raises(ValueError, match=r"^states must be two of the shape \(2, 2, 4\)"):
            network(given, states=states)


POOLS = {
    "cells": OptionPool(Cell(CellSizes(5, 3, 4, 4)) for _ in range(2)),
    "latents": LatentOptions(5, 3, 2, 4),
    "joined": JoinedOptions([LatentOptions(5, 3, 1, 4) for _ in range(2)]),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(
    "chosen", [torch.tensor([0, 1]), torch.tensor([0.0] * 4), torch.zeros(4, 1, dtype=torch.long)]
)
def test_an_option_for_each_row(name, chosen):
    assert POOLS[name].start(torch.zeros(4, 5), torch.tensor([0, 1, 1, 0]))[0].shape == (4, 3)
    with pytest.raises(ValueError, match="^chosen options must be 4 integers, not"):
        POOLS[name].start(torch.zeros(4, 5), chosen)


def test_tags_that_a_model_does_not_have():
    model = from_counts(no_counts(3))
    given = torch.tensor([[0, 2, 1], [1, 9, -4]])
    expected = model.trees(torch.tensor([[0, 2, 1], [1, 0, 0]]), torch.tensor([3, 1]))
    for dtype in (torch.int64, torch.int8, torch.uint8):
        found = model.trees(given.to(dtype), torch.tensor([3, 1]))
        assert torch.equal(found.log_partition, expected.log_partition)
    for tag in (-1, 3):
        with pytest.raises(ValueError, match=rf"^word 1 of sentence 0 has tag {tag}: tags are 0"):
            model.trees(torch.tensor([[0, tag]]))
    for tags in (torch.zeros(1, 2), torch.tensor([0, 1])):
        with pytest.raises(ValueError, match=r"^tags must be integers of shape \(batch, n\)"):
            model.trees(tags)
    with pytest.raises(TypeError, match="tags needs Tensor, not list"):
        model.trees([[0, 1]])


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1.0])
def test_counts_that_nothing_has(count):
    with pytest.raises(ValueError, match="^counts must be 0 or more, and finite"):
        from_counts(DMV(*(table + count for table in no_counts(3))))


def test_targets_as_integers():
    torch.manual_seed(1)
    network = LatentClassifier(3, 2, "spigot")
    given = torch.randn(4, 3), torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 1])
    floats = network(given[0], given[1].float(), given[2])
    assert torch.equal(network(*given).losses, floats.losses)


@pytest.mark.parametrize("size", [1, 3])
def test_lengths_of_another_batch(size):
    lengths, zeros = torch.ones(size, dtype=torch.long), torch.zeros(2, 4, dtype=torch.long)
    with pytest.raises(ValueError, match="lengths"):
        UndirectedAttention(9, 8)(zeros, lengths, zeros[:, :1])
    with pytest.raises(ValueError, match="lengths"):
        DistanceParser(words(), 8, 1, 3)(zeros, lengths)
    with pytest.raises(ValueError, match="lengths"):
        CompilePolicy(3, 2, 1)(torch.zeros(2, 4, 3), lengths, zeros[:, 0], zeros)


def test_tasks_and_actions_that_there_are_not():
    policy, zeros = CompilePolicy(3, 2, 1), torch.zeros(2, 4, dtype=torch.long)
    given = torch.zeros(2, 4, 3), torch.tensor([4, 2])
    with pytest.raises(ValueError, match="there is no task 1"):
        policy(*given, zeros[:, 0] + 1, zeros)
    with pytest.raises(ValueError, match="there is no task -1"):
        policy.begin(2, zeros[:, 0] - 1)
    actions = zeros.clone()
    actions[1, 2:] = 2  # at padding, which may be anything
    policy(*given, zeros[:, 0], actions)
    for wrong in (2, -1):
        actions[1, 1] = wrong
        with pytest.raises(ValueError, match="actions are 0 to 1"):
            policy(*given, zeros[:, 0], actions)
