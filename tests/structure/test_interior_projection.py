"""Projections near the middle of the polytope of trees, against the active set method."""

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.sparsemap import interior_projection
from fairseq_struct.structure.independent import Independent
from fairseq_struct.structure.pullback import pulled_back_gradient

LENGTHS = torch.tensor([6, 4, 1, 2])


@pytest.fixture(params=[0, 600], ids=["patient", "impatient"])
def few(request, monkeypatch):
    """Sentences with few dimensions get few products, or as many as others."""
    monkeypatch.setattr(interior_projection, "FEW_DIMENSIONS", request.param)


def no_search(monkeypatch):
    monkeypatch.setattr(
        DependencyTrees, "solve_sparsemap", lambda *arguments: pytest.fail("search")
    )


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scale", "size"), [(0.3, 0.01), (0.3, 0.5), (3.0, 0.1)])
def test_it_is_the_projection(kind, scale, size):
    scores = random_scores(4, 6, 6, scale=scale)

    trees = DependencyTrees(scores, LENGTHS, **kind)
    target = (trees.marginals - size * random_scores(4, 6, 6, seed=5)).masked_fill(~trees.within, 0)
    made = trees.project(target, trees.within)
    exact = trees.with_scores(target.masked_fill(~trees.within, -torch.inf))
    assert exact.sparse_distribution.converged.all()
    torch.testing.assert_close(made, exact.sparsemap, atol=2e-6, rtol=0)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", KINDS)
def test_a_short_way_is_as_exact_as_a_long_one(kind):
    """The way is a gradient: short where the decoder is right."""
    scores = random_scores(8, 12, 12, scale=3.0)

    trees = DependencyTrees(scores, **kind)
    target = trees.marginals - 1e-5 * random_scores(8, 12, 12, seed=5)
    way = trees.project(target, trees.within) - trees.marginals
    exact = DependencyTrees(target, **kind).sparsemap - trees.marginals
    assert ((way - exact).flatten(1).norm(dim=1) <= 1e-3 * exact.flatten(1).norm(dim=1)).all()


@pytest.mark.usefixtures("few")
def test_a_sentence_is_projected_as_if_it_were_alone():
    lengths = torch.tensor([9, 12, 4, 12])
    scores = random_scores(4, 12, 12, scale=3.0)

    trees = DependencyTrees(scores, lengths)
    target = (trees.marginals - 1e-2 * random_scores(4, 12, 12, seed=5)).masked_fill(
        ~trees.within, 0
    )
    together = trees.project(target, trees.within)
    for b, n in enumerate(lengths):
        own = DependencyTrees(scores[b : b + 1, :n, :n])
        alone = own.project(target[b : b + 1, :n, :n], own.within)
        torch.testing.assert_close(together[b : b + 1, :n, :n], alone, atol=1e-12, rtol=0)


def test_inner_points_need_no_search(monkeypatch):
    scores = random_scores(3, 20, 20, scale=0.1)
    lengths = torch.tensor([20, 15, 8])

    trees = DependencyTrees(scores, lengths)
    target = (trees.marginals - 1e-3 * random_scores(3, 20, 20, seed=5)).masked_fill(
        ~trees.within, 0
    )
    no_search(monkeypatch)
    made = trees.project(target, trees.within)
    # There, the projection only removes the mean of each word's move.
    move = target - trees.marginals
    words = trees.within.sum(1, keepdim=True).clamp_min(1)
    centred = (move - move.sum(1, keepdim=True) / words) * trees.within
    torch.testing.assert_close(made - trees.marginals, centred, atol=1e-9, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_arcs_that_go_to_zero_need_no_search(monkeypatch, kind):
    """The target lies outside of the polytope; its projection lies on a face without some arcs."""
    scores = random_scores(3, 10, 10, scale=0.7)
    lengths = torch.tensor([10, 10, 10])

    trees = DependencyTrees(scores, lengths, **kind)
    size = trees.marginals.flatten(1).quantile(0.1, dim=1)[:, None, None]
    move = size * random_scores(3, 10, 10, seed=5)
    target = (trees.marginals - move).masked_fill(~trees.within, 0)
    exact = trees.with_scores(target.masked_fill(~trees.within, -torch.inf)).sparsemap
    assert ((exact == 0) & trees.within).flatten(1).any(1).all()
    no_search(monkeypatch)
    made = trees.project(target, trees.within)
    torch.testing.assert_close(made, exact, atol=1e-9, rtol=0)


def test_what_cannot_be_shown_is_searched_for(monkeypatch):
    scores = random_scores(2, 5, 5, scale=0.3)
    trees = DependencyTrees(scores)
    target = trees.marginals - 0.01 * random_scores(2, 5, 5, seed=5)
    exact = DependencyTrees(target).sparsemap
    monkeypatch.setattr(interior_projection, "FEW_PRODUCTS", 1)
    found = []
    solve = DependencyTrees.solve_sparsemap
    monkeypatch.setattr(
        DependencyTrees, "solve_sparsemap", lambda *given: found.append(1) or solve(*given)
    )
    made = trees.project(target, trees.within)
    torch.testing.assert_close(made, exact)
    assert found


def test_a_gradient_of_flat_scores_depends_on_no_last_digit():
    """The active set method would be cut off at an arbitrary point."""
    lengths = torch.tensor([30, 24])
    gamma = random_scores(2, 30, 30, seed=5, dtype=torch.float32)
    gradients = []
    for noise in (0.0, 1e-7):
        scores = random_scores(2, 30, 30, scale=0.05, dtype=torch.float32)
        scores = scores + noise * random_scores(2, 30, 30, seed=8, dtype=torch.float32)
        gradients.append(pulled_back_gradient(
            scores, lambda s: DependencyTrees(s, lengths), "spigot_ce",
            lambda mu: (mu * gamma).sum((1, 2)), 1e-4,
        ))  # fmt: skip
    difference = (gradients[0] - gradients[1]).flatten(1).norm(dim=1)
    assert (difference <= 1e-3 * gradients[0].flatten(1).norm(dim=1)).all()


def test_pairs_are_projected_each_for_itself():
    scores = random_scores(2, 3, 4, 4, scale=0.3)
    target = random_scores(2, 3, 4, 4, scale=0.05, seed=5) + 0.25
    possible = torch.ones_like(scores, dtype=torch.bool)
    together = Independent(scores, DependencyTrees).project(target, possible)
    alone = DependencyTrees(scores.flatten(0, 1)).project(
        target.flatten(0, 1), possible.flatten(0, 1)
    )
    torch.testing.assert_close(together.flatten(0, 1), alone)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.01, 5.0])
def test_inference_mode(kind, size):
    scores = random_scores(4, 6, 6)

    def projected():
        trees = DependencyTrees(scores, LENGTHS, **kind)
        target = trees.marginals - size * random_scores(4, 6, 6, seed=5)
        return trees.project(target.masked_fill(~trees.within, 0), trees.within)

    with torch.inference_mode():
        found = projected()
    assert torch.equal(found, projected())


def test_targets_that_are_wrong():
    trees = DependencyTrees(random_scores(2, 3, 3))
    with pytest.raises(ValueError, match=r"^target must have shape \(2, 3, 3\), not \(3, 3\)"):
        trees.project(torch.zeros(3, 3), trees.within)
    target = torch.zeros(2, 3, 3)
    target[1, 0, 2] = float("nan")
    with pytest.raises(ValueError, match="^the score of arc 0 -> 2 in target 1 is nan"):
        trees.project(target, trees.within)
    with pytest.raises(ValueError, match=r"^scores must have shape \(2, 3, 3\), not \(2, 3\)"):
        trees.with_scores(torch.zeros(2, 3))
    with pytest.raises(TypeError, match="^kl needs DependencyTrees, not NoneType"):
        trees.kl(None)
