"""Shared parts of networks with a latent structure: reading it, and the mean of past losses."""

import pytest
import torch
from tree_kinds import random_scores

from fairseq_struct.modules.latent_clusters import LATENT_METHODS, LatentClassifier
from fairseq_struct.modules.latent_structure import LatentStructure
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.pullback import METHODS, reading

SCORES = random_scores(4, 3)


def learned(network, scores, structure):
    result = network._learn(scores, structure, lambda value: (value * torch.arange(3.0)).sum(1))
    result.losses.sum().backward()
    return result


@pytest.mark.parametrize("method", METHODS)
def test_trees_and_choices_are_read_by_the_same_rule(method):
    scores, lengths = random_scores(2, 4, 4), torch.tensor([4, 2])
    tree = LatentTree(method, temperature=0.5)
    expected = reading(scores, lambda given: tree.trees(given, lengths), method, 0.5)
    assert torch.equal(tree.read(scores, lengths), expected)
    choice = LatentStructure(method, temperature=0.5)
    assert torch.equal(choice._read(SCORES, Categorical), reading(SCORES, Categorical, method, 0.5))


@pytest.mark.parametrize("averaged", [True, False])
def test_past_losses_are_compared_with_where_they_are_averaged(averaged):
    network = LatentStructure("sfe", averaged=averaged)
    scores = SCORES.clone().requires_grad_()
    assert ("average_loss" in network.state_dict()) == averaged
    result = learned(network, scores, Categorical)
    if not averaged:
        assert network.average_loss is None
        return
    assert float(network.average_loss) == pytest.approx(result.losses.mean().item())
    again = LatentStructure("score_function", averaged=True)
    again.load_state_dict(network.state_dict())
    assert float(again.average_loss) == float(network.average_loss)


def test_checkpoints_have_the_average_where_they_always_had_it():
    for method in METHODS:
        found = set(LatentTree(method).state_dict())
        assert found == ({"average_loss"} if method == "score_function" else set())
    for method in LATENT_METHODS:
        found = "average_loss" in LatentClassifier(4, 3, method).state_dict()
        assert found == (method == "sfe_baseline")
