"""The number of steps of SparseMAP: unlimited unless given, with a warning when cut off."""

import warnings

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.structure.dependency import DependencyTrees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [20, 30])
def test_of_small_scores_the_gradient_is_exact_too(kind, n):
    """The search takes hundreds of steps, and the face is complete."""
    scores = random_scores(1, n, n, scale=0.1, seed=n).requires_grad_()
    direction = random_scores(1, n, n, seed=n + 1)

    def projection(at):
        return DependencyTrees(at, **kind).sparsemap

    (product,) = torch.autograd.grad(projection(scores), scores, direction)
    ahead, behind = projection(scores + 1e-7 * direction), projection(scores - 1e-7 * direction)
    numeric = (ahead - behind).detach() / 2e-7
    torch.testing.assert_close(product, numeric, atol=1e-6, rtol=0)


def test_a_warning_tells_of_steps_that_did_not_suffice():
    scores = random_scores(2, 12, 12, scale=0.1)
    with pytest.warns(RuntimeWarning, match="not exact for every sentence: 20 steps") as caught:
        DependencyTrees(scores, sparsemap_steps=20).sparsemap  # noqa: B018
    assert caught[0].filename.endswith("distribution.py")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (DependencyTrees(scores).sparse_distribution.gaps <= 1e-12).all()
        DependencyTrees(scores, sparsemap_steps=1000).sparsemap  # noqa: B018


def test_flat_scores_of_a_long_sentence_are_solved_to_the_end():
    solution = DependencyTrees(torch.zeros(1, 30, 30)).sparse_distribution
    assert solution.converged.all() and solution.sizes > 200


@pytest.mark.filterwarnings("ignore:SparseMAP is not exact")
def test_steps_that_do_not_suffice_leave_a_gap_that_bounds_the_error():
    scores = random_scores(4, 15, 15)
    trees = DependencyTrees(scores)
    exact = trees.sparsemap
    for steps in (3, 6, 12):
        solution = trees.solve_sparsemap(most_steps=steps)
        mean = torch.zeros_like(scores)
        for a in range(solution.trees.size(1)):
            mean += solution.weights[:, a, None, None] * trees.arcs(solution.trees[:, a])
        error = (mean - exact).square().sum((1, 2))
        assert (solution.gaps > 1e-8).any()
        torch.testing.assert_close(DependencyTrees(scores, sparsemap_steps=steps).sparsemap, mean)
        assert (error <= 2 * solution.gaps + 1e-12).all()


@pytest.mark.filterwarnings("ignore:SparseMAP is not exact")
def test_a_sentence_that_is_given_up_on_does_not_depend_on_its_batch():
    scores = random_scores(6, 14, 14, scale=0.01)
    lengths = torch.tensor([14, 9, 5, 14, 11, 12])
    trees = DependencyTrees(scores, lengths, sparsemap_steps=50)
    solution = trees.sparse_distribution
    assert not solution.converged.all()
    assert torch.equal(solution.converged, solution.gaps <= 1e-8)
    for b, n in enumerate(lengths.tolist()):
        alone = DependencyTrees(scores[b : b + 1, :n, :n], sparsemap_steps=50).sparsemap[0]
        torch.testing.assert_close(trees.sparsemap[b, :n, :n], alone, atol=1e-12, rtol=0)


@pytest.mark.filterwarnings("ignore:SparseMAP is not exact")
def test_nor_if_it_is_given_up_on_with_many_trees():
    """More trees than a search has room for at first, next to a longer sentence."""
    lengths = torch.tensor([12, 10, 24])
    scores = random_scores(3, 24, 24, scale=0.001, seed=6)
    trees = DependencyTrees(scores, lengths, projective=False, sparsemap_steps=120)
    assert (trees.sparse_distribution.sizes[:2] > 4 * lengths[:2] + 40).any()
    for b, n in enumerate(lengths.tolist()):
        alone = DependencyTrees(scores[b : b + 1, :n, :n], None, False, sparsemap_steps=120)
        mean = trees.sparsemap[b, :n, :n]
        torch.testing.assert_close(mean, alone.sparsemap[0], atol=1e-12, rtol=0)


def test_any_number_of_steps_may_be_allowed():
    trees = DependencyTrees(random_scores(4, 6, 6, scale=0.01))
    assert trees.solve_sparsemap(most_steps=10**9).converged.all()
