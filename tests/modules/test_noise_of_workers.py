"""Noise of training is each worker's own, and alone it is that of torch's generator."""

import pytest
import torch

from fairseq_struct.modules import workers
from fairseq_struct.modules.dropouts import UnknownWords
from fairseq_struct.modules.option_controller.compile_recognition import Recognition
from fairseq_struct.modules.recurrent_mechanisms import RimComposer, follow
from fairseq_struct.modules.recursive.beam_tree import BeamTree
from fairseq_struct.modules.recursive.cells import CELLS
from fairseq_struct.modules.undirected.mlp import UndirectedMLP
from fairseq_struct.modules.undirected.passes import Passes


def unknown_words():
    return UnknownWords(0.5, 3)(torch.full((4, 9), 5))


def first_labels():
    network = UndirectedMLP((1, 4, 4), 3, (5,), Passes(2), 0.1, initialisation="random")
    return network(torch.ones(6, 1, 4, 4)).logits


def segments():
    return Recognition(4, 2, 3, 0.5)(torch.ones(5, 7, 4), torch.full((5,), 6)).boundaries


def beam():
    trees = BeamTree(CELLS["tree_rnn"](4, 4, 0.0), 2)
    return trees(torch.ones(5, 7, 4), torch.full((5,), 7)).vectors


def steps():
    """Each of eight words is tagged, then all are joined; the composer's own steps are others."""
    composer = RimComposer(torch.nn.Embedding(9, 8, 0), 3, 2, categories=4)
    starts = torch.cat([torch.arange(8), torch.zeros(1).long()]).expand(16, -1)
    ends = torch.cat([torch.arange(1, 9), torch.full((1,), 8)]).expand(16, -1)
    tokens = torch.arange(1, 9).expand(16, -1)
    sizes = torch.full((16,), 8), starts, ends, torch.full((16,), 9)
    return follow(composer, tokens, *sizes, own_share=0.5).losses.sum(1)


@pytest.mark.parametrize("draw", [unknown_words, first_labels, segments, beam, steps])
def test_workers_draw_noise_of_their_own(monkeypatch, draw):
    drawn = []
    for number in (0, 0, 1, 1):
        torch.manual_seed(7)  # fairseq seeds all workers alike
        monkeypatch.setattr(workers, "rank", lambda number=number: number)
        drawn.append(draw())
    first, again, second, repeated = drawn
    assert torch.equal(first, again) and torch.equal(second, repeated)
    assert not torch.equal(first, second)
