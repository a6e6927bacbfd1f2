"""Networks of numbers that cannot be, which are refused when they are made."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.masked_lm.structformer import DependencyAttention, DistanceParser
from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.option_controller.ordered_memory_policy import OrderedMemoryPolicy
from fairseq_struct.modules.ordered_memory import OrderedMemory
from fairseq_struct.modules.ordered_memory.attention import MaskedAttention
from fairseq_struct.modules.recurrent_mechanisms import RecurrentMechanisms
from fairseq_struct.modules.recursive.beam_tree import BeamTree
from fairseq_struct.modules.recursive.cells import CELLS
from fairseq_struct.modules.scheduled_sampling.embedding_mix import EmbeddingMix

NAN = float("nan")


def parser(**options):
    return DistanceParser(nn.Embedding(3, 4), 4, **options)


def beam(**options):
    return BeamTree(CELLS["tree_rnn"](3, 4, 0.0), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DependencyAttention(8, 0, 4), "heads must divide the size 8, not 0"),
        (lambda: DependencyAttention(8, -2, 4), "heads must divide the size 8, not -2"),
        (lambda: parser(layers=-1), "0 convolutions or more, not -1"),
        (lambda: parser(width=-1), "convolution must be odd and above 0, not -1"),
        (lambda: OrderedMemory(3, 4, 2.5), r"slots must be an integer, not 2\.5"),
        (lambda: OrderedMemory(3, 4, 2)(torch.ones(2, 1, 3), slots=1.5), "slots must be an integ"),
        (lambda: OrderedMemory(3, 4, 2, dropout=NAN), "must be from 0 to 1, not nan"),
        (lambda: OrderedMemory(3, 4, 2, attention_dropout=2), "must be from 0 to 1, not 2"),
        (lambda: RecurrentMechanisms(2, 1.5, 3, 3), r"top_k must be an integer, not 1\.5"),
        (lambda: RecurrentMechanisms("2", 1, 3, 3), "units must be an integer, not '2'"),
        (lambda: beam(beam=2.5), r"beam must be an integer, not 2\.5"),
        (lambda: LatentTree(steps=1.5), r"steps must be an integer, not 1\.5"),
        (lambda: LatentTree("sparsemap", sparsemap_steps=5.5), r"must be an integer, not 5\.5"),
        (lambda: MaskedAttention(0), "size must be 1 or more, not 0"),
        (lambda: EmbeddingMix("top_k", top_k=1.5), r"top_k must be an integer, not 1\.5"),
        (lambda: OrderedMemoryPolicy(3, 4, 2, 5, dropout=NAN), "must be from 0 to 1, not nan"),
        (lambda: ONLSTM(3, 4, dropout=NAN), "must be from 0 to 1, not nan"),
        (lambda: ONLSTM(3, 4.0), r"hidden_size must be an integer, not 4\.0"),
        (lambda: ONLSTM(3, 4, 1.5), r"num_layers must be an integer, not 1\.5"),
    ],
)
def test_numbers_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("rows", "lengths", "message"),
    [
        (2, [3, 0], "sentence 1 has length 0; allowed are 1 to 3"),
        (2, torch.tensor([4, 1]), "sentence 0 has length 4; allowed are 1 to 3"),
        (2, [3], r"lengths must be 2 integers, not \[3\]"),
        (0, torch.zeros(0).long(), "the batch is empty; it needs 1 sentence or more"),
    ],
)
def test_sentences_of_a_beam_that_cannot_be(rows, lengths, message):
    with pytest.raises(ValueError, match=message):
        beam()(torch.ones(rows, 3, 3), lengths)
