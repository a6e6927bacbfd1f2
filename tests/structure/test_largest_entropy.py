"""The largest entropy of trees with given marginals, against distributions of which it is known."""

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.modules.undirected import TreeMarginals, TreeSupport
from fairseq_struct.structure.dependency import DependencyTrees, largest_entropy

LENGTHS = torch.tensor([7, 4, 1, 2])


def of_kind(kind):
    return TreeMarginals(kind["projective"], kind["single_root"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_it_is_the_entropy_of_trees_with_scores_of_arcs(kind, scale):
    """Of all distributions with the same marginals, theirs has the largest entropy."""
    trees = DependencyTrees(random_scores(4, 7, 7, scale=scale), LENGTHS, **kind)
    found = -of_kind(kind).value(trees.marginals, TreeSupport(LENGTHS))
    torch.testing.assert_close(found, trees.entropy, atol=1e-8, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_sentence_it_is_the_same_in_every_batch(kind):
    scores = random_scores(4, 7, 7, scale=4.0)
    together = DependencyTrees(scores, LENGTHS, **kind)
    values = of_kind(kind).value(together.marginals, TreeSupport(LENGTHS))
    for n, own, value in zip(LENGTHS.tolist(), together.marginals, values, strict=True):
        alone = of_kind(kind).value(own[None, :n, :n])[0]
        torch.testing.assert_close(alone, value, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "away"), [(torch.float32, 1e-5), (torch.bfloat16, 0.5)])
def test_marginals_that_are_rounded(kind, dtype, away):
    trees = DependencyTrees(random_scores(4, 7, 7, scale=4.0), LENGTHS, **kind)
    found = -of_kind(kind).value(trees.marginals.to(dtype), TreeSupport(LENGTHS))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), trees.entropy, atol=away, rtol=0)


def test_of_one_tree_it_is_0():
    tree = DependencyTrees(random_scores(2, 5, 5)).argmax
    assert TreeMarginals(projective=True).value(tree).abs().max() < 1e-12


def test_it_is_found_in_inference_mode_too():
    scores = random_scores(2, 5, 5)
    expected = largest_entropy(DependencyTrees, DependencyTrees(scores).marginals)
    with torch.inference_mode():
        found = largest_entropy(DependencyTrees, DependencyTrees(scores).marginals)
    assert torch.equal(found, expected) and not found.is_inference()
