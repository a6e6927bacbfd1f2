"""SparseMAP against the quadratic program over all trees, its gradient, and its limits."""

from dataclasses import replace

import pytest
import torch
from scipy.optimize import minimize
from tree_kinds import KINDS, Enumerated, random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.sparsemap.solve import SparseDistribution


def quadratic_program(scores, oracle):
    """argmax <s, mu> - |mu|^2 / 2 by a general solver, over the weights of all trees."""
    trees = oracle.arcs.flatten(1).numpy()
    gram, linear = trees @ trees.T, trees @ scores.flatten().numpy()
    result = minimize(
        lambda p: 0.5 * p @ gram @ p - linear @ p,
        oracle.probabilities.numpy(),
        jac=lambda p: gram @ p - linear,
        bounds=[(0, 1)] * len(trees),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: 0 * p + 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return torch.from_numpy(result.x @ trees).view_as(scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_the_solution_is_that_of_the_quadratic_program(kind, scale):
    lengths = torch.tensor([4, 3, 4, 2, 1])
    scores = random_scores(5, 4, 4, scale=scale, seed=1)
    trees = DependencyTrees(scores, lengths, **kind)
    for b, n in enumerate(lengths.tolist()):
        own = scores[b, :n, :n]
        oracle, mu = Enumerated(own, kind), trees.sparsemap[b, :n, :n]
        expected = quadratic_program(own, oracle)
        torch.testing.assert_close(mu, expected, atol=1e-6, rtol=0)
        # The optimality conditions, on all trees: exact, whatever the solver's precision.
        residual = own - mu
        gap = (oracle.arcs * residual).sum((1, 2)).max() - (residual * mu).sum()
        assert gap < 1e-8
        torch.testing.assert_close(mu.sum(0), torch.ones(n, dtype=mu.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_exact_and_can_be_differentiated(kind):
    lengths = torch.tensor([5, 3])
    scores = random_scores(2, 5, 5, seed=4).requires_grad_()
    direction = random_scores(2, 5, 5, seed=5).requires_grad_()

    def projection(given):
        return DependencyTrees(given, lengths, **kind).sparsemap

    assert torch.autograd.gradcheck(projection, scores)

    def product(direction):
        return torch.autograd.grad(projection(scores), scores, direction, create_graph=True)[0]

    assert torch.autograd.gradcheck(product, direction)
    # The Jacobian is a projection onto the face: applied twice it is itself.
    once = product(direction)
    torch.testing.assert_close(product(once), once)


def test_trees_of_tiny_weight_count_in_the_gradient():
    """For these scores, a search that ended at a gap of 1e-8 missed one tree of the face."""
    for seed in (23, 39):
        torch.manual_seed(seed)
        scores, weights = 0.3 * torch.randn(1, 9, 9).double(), torch.randn(9, 9).double()
        torch.manual_seed(1000 + seed)
        direction = torch.randn(1, 9, 9).double()

        def value(at, weights=weights):
            return (DependencyTrees(at, projective=False).sparsemap * weights).sum()

        leaf = scores.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(value(leaf), leaf)
        ahead, behind = value(scores + 1e-5 * direction), value(scores - 1e-5 * direction)
        torch.testing.assert_close(
            (gradient * direction).sum(), (ahead - behind) / 2e-5, atol=1e-6, rtol=0
        )


def test_few_trees_explain_the_mean():
    trees = DependencyTrees(random_scores(4, 12, 12, scale=2.0), torch.tensor([12, 7, 12, 1]))
    few = trees.sparse_distribution
    assert (few.gaps <= 1e-8).all() and (few.weights >= 0).all()
    torch.testing.assert_close(few.weights.sum(1), torch.ones(4, dtype=torch.float64))
    mean = torch.zeros_like(trees.scores)
    for a in range(few.trees.size(1)):
        heads = few.trees[:, a]
        assert trees.is_tree(heads)[few.weights[:, a] > 0].all()
        mean += few.weights[:, a, None, None] * trees.arcs(heads)
    torch.testing.assert_close(mean, trees.sparsemap)
    assert (few.sizes < 60).all() and few.sizes[3] == 1


@pytest.mark.filterwarnings("ignore:SparseMAP is not exact")
def test_a_solution_at_hand_is_a_start():
    scores = random_scores(6, 15, 15)
    solution = DependencyTrees(scores).sparse_distribution
    again = DependencyTrees(scores).solve_sparsemap(most_steps=1, start=solution)
    assert (again.gaps <= 1e-8).all()
    near = DependencyTrees(scores + 1e-3 * random_scores(6, 15, 15, seed=9))
    # The search takes many steps from an empty start, and few from the old solution.
    assert (near.solve_sparsemap(most_steps=6, start=solution).gaps <= 1e-8).all()
    assert (near.solve_sparsemap(most_steps=6).gaps > 1e-8).any()


def test_scores_beyond_float32_are_solved_as_well():
    """Where every tree has an arc of score -inf in float32, only the search in float64 helps."""
    scores = torch.tensor([[[0.0, -1e39], [-2e39, 0.0]]], dtype=torch.float64)
    trees = DependencyTrees(scores, single_root=True)
    assert trees.sparsemap.tolist() == [[[1.0, 1.0], [0.0, 0.0]]]
    scores = 1e50 * random_scores(3, 8, 8)
    trees = DependencyTrees(scores)
    torch.testing.assert_close(trees.sparsemap, trees.argmax, atol=1e-7, rtol=0)


@pytest.mark.parametrize("projective", [True, False])
def test_arcs_that_all_trees_need_do_not_hide_the_others(projective):
    """The arcs of a single root may have any scores: they are a constant of all trees."""
    scores = 0.05 * random_scores(1, 12, 12)
    weights = random_scores(1, 12, 12, seed=1)
    gradients = []
    for constant in (0.0, 100.0, -100.0):
        leaf = (scores + constant * torch.eye(12).double()).requires_grad_()
        trees = DependencyTrees(leaf, None, projective, True)
        gradients += torch.autograd.grad(trees.sparsemap, leaf, weights)
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-9, rtol=0)
    torch.testing.assert_close(gradients[2], gradients[0], atol=1e-9, rtol=0)


@pytest.mark.parametrize("penalty", [1e5, 1e7, 1e9])
def test_a_penalty_of_roots_is_a_single_root(penalty):
    """The nudge that finds the other trees of a face grows with the rounding of scores only."""
    gradients = []
    for single_root, own in ((True, 0.0), (False, -penalty)):
        leaf = 0.3 * random_scores(3, 10, 10) + own * torch.eye(10).double()
        trees = DependencyTrees(leaf.requires_grad_(), None, False, single_root)
        gradients += torch.autograd.grad(trees.sparsemap, leaf, random_scores(3, 10, 10, seed=1))
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 0.1, 1.0])
def test_last_digits_of_the_scores_do_not_change_the_gradient(kind, scale):
    """Near 0 the mean is one of hundreds of trees; all that the gradient needs must be found."""
    scores = scale * random_scores(2, 18, 18, seed=2)
    gradients = []
    for noise in (0.0, 1e-7 * scale):
        leaf = (scores + noise * random_scores(2, 18, 18, seed=3)).requires_grad_()
        trees = DependencyTrees(leaf, torch.tensor([18, 13]), **kind)
        gradients += torch.autograd.grad(trees.sparsemap, leaf, random_scores(2, 18, 18, seed=4))
    # Hundreds of trees are an ill-conditioned basis of a face (1e8), whichever are found; a tree
    # that is missing would change the gradient by 1e-1.
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=0)


@pytest.mark.parametrize("seed", [9, 30, 51])
def test_a_face_is_completed_when_its_search_first_ends_for_want_of_room(seed):
    """The number of trees is what positive arcs allow: one sum per word and one for the root."""
    leaf = (0.05 * random_scores(2, 18, 18, seed=seed)).requires_grad_()
    for noise in (0.0, 5e-9):
        scores = leaf + noise * random_scores(2, 18, 18, seed=900)
        trees = DependencyTrees(scores, torch.tensor([18, 13]), projective=False)
        arcs = (trees.sparsemap > 1e-12).flatten(1).sum(1)
        # A basis is one more than the dimensions of its affine space.
        assert (trees._face.trees[1] == arcs - (torch.tensor([18, 13]) + 1) + 1).all()


def test_inside_the_polytope_the_gradient_is_that_of_the_affine_space():
    """Flat scores project to the inside of the polytope: all directions within it count.

    These directions leave the sum of each word's arcs, and of the root's arcs, at one.
    """
    n = 16
    sums = torch.zeros(n + 1, n, n, dtype=torch.float64)
    sums[torch.arange(n), :, torch.arange(n)] = 1.0
    sums[n] = torch.eye(n)
    sums = sums.flatten(1)
    scores, weights = random_scores(1, n, n), random_scores(1, n, n, seed=1)
    scores = (1e-3 * scores).requires_grad_()
    trees = DependencyTrees(scores, None, False, single_root=True)
    (gradient,) = torch.autograd.grad(trees.sparsemap, scores, weights)
    outside = torch.linalg.lstsq(sums.T, weights.view(-1, 1)).solution
    expected = weights.flatten() - (sums.T @ outside).flatten()
    torch.testing.assert_close(gradient.flatten(), expected)
    # Means of fewer trees than directions are equally near.
    assert trees.sparse_distribution.sizes < n * (n - 1)


@pytest.mark.parametrize("weighted", [0, -1, None])
def test_any_weights_are_a_start(weighted):
    """Also the weights of linearly dependent trees; these trees are left out."""
    trees = DependencyTrees(random_scores(1, 3, 3, scale=0.3), projective=False)
    (heads,) = trees.enumerate()
    weights = torch.zeros(1, len(heads), dtype=torch.float64)
    if weighted is not None:
        weights[0, weighted] = 1.0
    start = SparseDistribution(heads[None], weights, torch.tensor([len(heads)]), torch.zeros(1))
    solution = trees.solve_sparsemap(start=start)
    expected = trees.sparse_distribution
    torch.testing.assert_close(solution.weights.sum(), expected.weights.sum())
    assert (solution.gaps < 1e-14).all() and (expected.gaps < 1e-14).all()


def test_a_start_that_does_not_fit_is_refused():
    scores = random_scores(2, 5, 5)
    heads = torch.tensor([[3, 4, 0, 0, 1], [0, 1, 2, 3, 4]])  # first: two roots, crossing arcs
    ones = torch.ones(2, 1, dtype=torch.float64)
    start = SparseDistribution(heads[:, None], ones, torch.tensor([1, 1]), torch.zeros(2))
    for kind in ({"single_root": True}, {"projective": True}):
        with pytest.raises(ValueError, match="tree 0 of start for sentence 0"):
            DependencyTrees(scores, **{"projective": False, **kind}).solve_sparsemap(start=start)
    with pytest.raises(ValueError, match=r"sizes of shape \(2,\), 0 to 1"):
        start = replace(start, sizes=start.sizes + 10**6)
        DependencyTrees(scores, projective=False).solve_sparsemap(start=start)
    start = replace(start, sizes=torch.tensor([1, 1]))
    with pytest.raises(ValueError, match=r"weights of shape \(2, 1\), 0 or more and finite"):
        bad = replace(start, weights=start.weights * torch.inf)
        DependencyTrees(scores, projective=False).solve_sparsemap(start=bad)
    with pytest.raises(TypeError, match="must be a SparseDistribution, not Tensor"):
        DependencyTrees(scores).solve_sparsemap(start=scores)
    forbidden = scores.clone()
    forbidden[1, 0, 0] = -torch.inf
    with pytest.raises(ValueError, match="of start for sentence 1"):
        DependencyTrees(forbidden, projective=False).solve_sparsemap(start=start)
    with pytest.raises(ValueError, match="for 2 sentences of up to 5 words, not for 3 of up to 4"):
        DependencyTrees(random_scores(3, 4, 4)).solve_sparsemap(start=start)


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e6])
def test_ties_and_extremes_end(scale):
    """Tied scores make degenerate faces; huge ones leave a single tree."""
    scores = (scale * random_scores(3, 8, 8)).round(decimals=0)
    for param in KINDS:
        (kind,) = param.values
        trees = DependencyTrees(scores, **kind)
        assert trees.sparsemap.isfinite().all()
        assert (trees.sparse_distribution.gaps < 0.1).all()
        if scale == 1e6:
            torch.testing.assert_close(trees.sparsemap, trees.argmax, atol=1e-7, rtol=0)


def test_the_mean_is_of_the_sentences_of_the_trees():
    trees = DependencyTrees(random_scores(2, 6, 6), torch.tensor([6, 3]))
    solution = trees.sparse_distribution
    assert torch.equal(solution.mean([6, 3]), solution.mean(torch.tensor([6, 3])))
    torch.testing.assert_close(solution.mean([6, 3]), trees.sparsemap.double())
    for lengths in ([6], [6, 9], [6, 0], [6.0, 3.0]):
        with pytest.raises(ValueError, match="^(lengths must be 2 integers|sentence 1 has length)"):
            solution.mean(torch.tensor(lengths))
