"""Scores whose sums over trees leave the range of float64, against the log domain."""

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.structure.dependency import DependencyTrees


def against_the_log_domain(scores, quantity, **kind):
    return [quantity(scores.clone(), backend=backend, **kind) for backend in ("compiled", "torch")]


def log_partition(scores, **how):
    return DependencyTrees(scores, **how).log_partition


def gradient_of_entropy(scores, **how):
    entropy = DependencyTrees(scores.requires_grad_(), **how).entropy
    return torch.autograd.grad(entropy.sum(), scores)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 6, 8])
def test_nothing_is_lost_without_a_sign(kind, n):
    """Among them are sentences all of whose trees are below the smallest number."""
    scores = 600 * random_scores(200, n, n, seed=n)
    ours, expected = against_the_log_domain(scores, log_partition, **kind)
    assert torch.allclose(ours, expected, rtol=1e-13, atol=0)
    ours, expected = against_the_log_domain(scores, gradient_of_entropy, **kind)
    assert torch.allclose(ours, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("single_root", [False, True])
def test_the_value_is_the_same_with_and_without_gradients(single_root):
    # exp(-800) is 0; the other tree has the score -645 - 656.
    scores = torch.full((1, 3, 3), -2000.0, dtype=torch.float64)
    for head, word, score in (
        (0, 0, -800.0), (1, 0, 0.0), (0, 1, 0.0), (2, 1, -645.0), (1, 2, 0.0), (2, 2, -656.0),
    ):  # fmt: skip
        scores[0, head, word] = score
    for wanted in (False, True):
        given = scores.clone().requires_grad_(wanted)
        trees = DependencyTrees(given, projective=False, single_root=single_root)
        assert trees.log_partition.item() == pytest.approx(-800, abs=1e-9)
        assert trees.log_prob(trees.heads).item() == pytest.approx(0, abs=1e-9)


def test_samples_are_exact_at_the_smallest_numbers():
    scores = torch.tensor([[[-743.7, 0.0], [0.0, -744.7]]], dtype=torch.float64)
    trees = DependencyTrees(scores)
    drawn = trees.sample_heads(20_000, torch.Generator().manual_seed(1))
    share = (drawn[:, 0, 0] == 0).double().mean()
    assert trees.marginals[0, 0, 0].item() == pytest.approx(0.7311, abs=1e-4)
    assert share.item() == pytest.approx(0.7311, abs=0.0125)  # four standard errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", ["compiled", "torch"])
@pytest.mark.parametrize("lengths", [[1, 1], [1, 3]])
def test_a_penalty_of_gradients_for_sentences_of_one_word(kind, backend, lengths):
    n = max(lengths)
    scores = random_scores(2, n, n, seed=1).requires_grad_()
    trees = DependencyTrees(scores, torch.tensor(lengths), backend=backend, **kind)
    (gradient,) = torch.autograd.grad(trees.entropy.sum(), scores, create_graph=True)
    gradient.square().sum().backward()
    assert scores.grad[0].abs().max() < 1e-12
    assert (scores.grad[1].abs().max() > 1e-3) == (lengths[1] > 1)


@pytest.mark.parametrize("backend", ["compiled", "torch"])
def test_an_infinite_gradient_does_not_become_finite(backend):
    leaf = random_scores(1, 3, 3).requires_grad_()
    trees = DependencyTrees(leaf, projective=True, backend=backend)
    above = torch.zeros(1, 3, 3, dtype=torch.float64)
    above[0, 1, 0] = -torch.inf
    (gradient,) = torch.autograd.grad(trees.marginals, leaf, above)
    assert not gradient.isfinite().any()
