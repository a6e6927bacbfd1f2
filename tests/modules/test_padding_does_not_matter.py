"""What padding holds, NaN and infinity too, changes no value and no gradient."""

import pytest
import torch

from fairseq_struct.modules.masked_lm.structformer import dependency_distribution
from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy
from fairseq_struct.modules.recursive.beam_tree import BeamTree
from fairseq_struct.modules.recursive.cells import CELLS
from fairseq_struct.modules.undirected.parser import UndirectedParser
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.regularisers import REGULARISERS

LENGTHS = torch.tensor([5, 2, 3])
WORDS = torch.arange(5) < LENGTHS[:, None]
FILLS = (1.0, float("nan"), float("inf"), -float("inf"), 1e4)


def equal_for_all_fills(run, shape, real, weights=()):
    """Whether ``run`` of an input, filled in where it is not real, has the same values always."""
    given, found = torch.randn(shape, generator=torch.Generator().manual_seed(1)).double(), []
    for fill in FILLS:
        inputs = given.masked_fill(~real, fill).requires_grad_()
        values = run(inputs)
        total = sum(value.square().sum() for value in values)
        gradients = torch.autograd.grad(total, [inputs, *weights])
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert not gradients[0].masked_fill(real, 0.0).any()
        found.append((*values, *gradients))
    return all(torch.equal(*pair) for other in found for pair in zip(found[0], other, strict=True))


@pytest.mark.parametrize("fused", [True, False])
def test_of_on_lstms(fused):
    torch.manual_seed(1)
    network = ONLSTM(3, 4, 2, fused=fused, batch_first=True).double()

    def run(inputs):
        result = network.run(inputs, lengths=LENGTHS)
        return result.output, *result.state, result.distances

    assert equal_for_all_fills(run, (3, 5, 3), WORDS[..., None], [*network.parameters()])


@pytest.mark.parametrize("height", [0.0, -1000.0])
def test_of_distances_and_heights(height):
    """The gap after the last word is no gap; very low heights are far below those of padding."""
    real = torch.stack([torch.arange(5) < LENGTHS[:, None] - 1, WORDS])

    def run(inputs):
        distances, heights = inputs
        return [dependency_distribution(distances, heights + height, LENGTHS)]

    assert equal_for_all_fills(run, (2, 3, 5), real)


def test_of_demonstrations():
    torch.manual_seed(1)
    policy = CompilePolicy(5, 3, 2, options=2, segments=2, size=8).double().eval()
    lengths, tasks = torch.tensor([4, 2]), torch.tensor([0, 1])
    actions = torch.randint(3, (2, 4))
    real = (torch.arange(4) < lengths[:, None])[..., None]

    def run(observations):
        said = policy(observations, lengths, tasks, actions)
        return said.log_probabilities, said.ends, said.options, said.extra_loss

    assert equal_for_all_fills(run, (2, 4, 5), real, list(policy.parameters()))


@pytest.mark.parametrize("test", [2, "converge"])
def test_of_words_to_parse(test):
    torch.manual_seed(1)
    encoder = torch.nn.Module()
    encoder.size = 3
    parser = UndirectedParser(encoder, 6, 0.0, Passes(2, test=test)).double().eval()
    torch.nn.init.normal_(parser.graph.factors["arcs"].weight, std=0.1)

    def run(words):
        found = parser.infer(words, LENGTHS)
        energy = [] if found.energy is None else [found.energy]
        return [found.trees.log_partition, *energy]

    used = [parser.graph.factors[name].weight for name in ("heads", "modifiers", "arcs")]
    assert equal_for_all_fills(run, (3, 5, 3), WORDS[..., None], used)


def test_of_beams_of_trees():
    torch.manual_seed(1)
    trees = BeamTree(CELLS["tree_lstm"](3, 4, 0.0), 2).double().eval()

    def run(words):
        found = trees(words, LENGTHS)
        return found.vectors, found.scores.exp()

    assert equal_for_all_fills(run, (3, 5, 3), WORDS[..., None], [*trees.parameters()])


@pytest.mark.parametrize("name", REGULARISERS)
def test_of_variables_outside_of_their_supports(name):
    regulariser = REGULARISERS[name]()
    support = torch.tensor([[True, True, False], [False, True, True], [False] * 3])

    def run(t):
        h = regulariser.gradient(t, support)
        return h, regulariser.conjugate(t, support), regulariser.value(h, support)

    assert equal_for_all_fills(run, (3, 3), support)
