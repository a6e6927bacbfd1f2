"""Whole networks with latent trees in float64: gradients against differences of the loss."""

import pytest
import torch

from fairseq_struct.modules.latent_tree.classifier import LatentTreeClassifier
from fairseq_struct.modules.latent_tree.decomposable_attention import DecomposableAttention
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.sentence_encoder import SentenceEncoder


@pytest.mark.parametrize("method", ["marginals", "sparsemap"])
@pytest.mark.parametrize("sides", [1, 2])
def test_gradients_are_those_of_the_loss(method, sides):
    """Along a random direction; numbers of float32 on the way would spoil the differences."""
    torch.manual_seed(1)
    embedding, tree = torch.nn.Embedding(30, 8, 1), LatentTree(method)
    if sides == 1:
        network = LatentTreeClassifier(SentenceEncoder(embedding, 6), 5, 3, tree)
    else:
        network = DecomposableAttention(embedding, 6, 3, tree)
    network = network.double()
    tokens = torch.tensor([[[4, 5, 6, 7], [8, 9, 1, 1]], [[5, 9, 1, 1], [6, 7, 8, 1]]])[:, :sides]
    lengths = (tokens != 1).sum(-1)
    names, values = zip(*network.named_parameters(), strict=True)
    directions = [torch.randn_like(value) for value in values]

    def loss(step):
        given = {n: v + step * d for n, v, d in zip(names, values, directions, strict=True)}
        output = torch.func.functional_call(network, given, (tokens, lengths, torch.tensor([0, 2])))
        assert output.logits.dtype == output.losses.dtype == torch.float64
        return output.losses.sum()

    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(step), step)
    with torch.no_grad():
        difference = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert abs(slope) > 0.01
    torch.testing.assert_close(slope, difference, rtol=1e-6, atol=1e-8)
