"""Sums, maxima, samples over trees and gradients, against an enumeration of all trees."""

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tree_kinds import BACKENDS, KINDS, Enumerated, random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.enumeration import all_heads, is_projective, is_tree
from fairseq_struct.structure.dependency.heads import heads_of
from fairseq_struct.structure.dependency.heads import is_tree as is_tree_in_batch

LENGTHS = torch.tensor([5, 1, 4, 2, 3, 5])


def test_there_are_as_many_trees_as_there_should_be():
    def counts(**kind):
        return [len(all_heads(n, **kind)) for n in (2, 3, 4, 5)]

    assert counts(projective=False, single_root=False) == [3, 16, 125, 1296]
    assert counts(projective=False, single_root=True) == [2, 9, 64, 625]
    assert counts(projective=True, single_root=False) == [3, 12, 55, 273]
    assert counts(projective=True, single_root=True) == [2, 7, 30, 143]
    with pytest.raises(ValueError, match="enumeration is for 1 to 6 words, not 7"):
        all_heads(7, True, True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_all_verbs_against_enumeration(kind, backend, scale):
    scores = random_scores(len(LENGTHS), 5, 5, scale=scale)
    trees = DependencyTrees(scores, LENGTHS, **kind, backend=backend)
    other = DependencyTrees(scores.flip(1), LENGTHS, **kind, backend=backend)
    close = {"atol": 1e-9, "rtol": 1e-9}
    for b, n in enumerate(LENGTHS.tolist()):
        oracle = Enumerated(scores[b, :n, :n], kind)
        q = Enumerated(scores[b].flip(0)[:n, :n], kind)
        torch.testing.assert_close(trees.log_partition[b], oracle.log_partition, **close)
        torch.testing.assert_close(trees.marginals[b, :n, :n], oracle.marginals, **close)
        torch.testing.assert_close(trees.entropy[b], oracle.entropy, **close)
        torch.testing.assert_close(trees.max[b], oracle.scores.max(), **close)
        best = (oracle.heads == trees.heads[b, :n]).all(1)
        torch.testing.assert_close(oracle.scores[best].sum(), oracle.scores.max(), **close)
        logs = (oracle.scores - oracle.log_partition) - (q.scores - q.log_partition)
        divergence = (oracle.probabilities * logs).sum()
        torch.testing.assert_close(trees.kl(other)[b], divergence, atol=1e-8, rtol=1e-8)
        padded = torch.nn.functional.pad(oracle.heads, (0, 5 - n))
        everywhere = torch.zeros(len(padded), len(LENGTHS), 5, dtype=torch.int64)
        everywhere[:, b] = padded
        logs = trees.log_prob(everywhere)[:, b]
        torch.testing.assert_close(logs, oracle.scores - oracle.log_partition, **close)
    assert torch.equal(trees.argmax, trees.arcs(trees.heads))
    assert torch.equal(heads_of(trees.argmax), trees.heads)
    assert torch.equal(heads_of(trees.argmax.bool()), trees.heads)
    outside = ~trees.within
    for value in (trees.marginals, trees.argmax, trees.sample(2)[1], trees.sparsemap):
        assert (value[outside] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_any_order(kind, backend):
    lengths = torch.tensor([4, 3])
    scores = random_scores(2, 4, 4).requires_grad_()

    def trees(given):
        return DependencyTrees(given, lengths, **kind, backend=backend)

    heads = trees(scores).heads
    # The slow backend's Jacobians are compared along a random direction, not column by column.
    fast = backend == "torch"
    torch.manual_seed(0)
    for verb in (
        lambda given: trees(given).log_partition,
        lambda given: trees(given).marginals,
        lambda given: trees(given).entropy,
        lambda given: trees(given).log_prob(heads),
        lambda given: trees(given).kl(trees(given.flip(1))),
    ):
        assert torch.autograd.gradcheck(verb, scores, fast_mode=fast)
        assert torch.autograd.gradgradcheck(verb, scores, fast_mode=fast)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_forbidden_arcs(kind, backend):
    scores = random_scores(8, 4, 4)
    scores[random_scores(8, 4, 4, seed=1) < -0.5] = -torch.inf
    for b, sentence in enumerate(scores):
        oracle = Enumerated(sentence, kind)
        one = [sentence[None].clone().requires_grad_(), torch.tensor([4])]
        if (sentence == -torch.inf).all(0).any():
            with pytest.raises(ValueError, match=r"all arcs to word \d in sentence 0 are forb"):
                DependencyTrees(*one, **kind, backend=backend)
            continue
        trees = DependencyTrees(*one, **kind, backend=backend)
        if oracle.log_partition == -torch.inf:
            for verb in ("log_partition", "marginals", "heads", "sparsemap", "entropy"):
                with pytest.raises(ValueError, match="sentence 0 allows .* form no tree"):
                    getattr(trees, verb)
            continue
        torch.testing.assert_close(trees.log_partition[0], oracle.log_partition)
        torch.testing.assert_close(trees.marginals[0], oracle.marginals)
        torch.testing.assert_close(trees.entropy[0], oracle.entropy)
        torch.testing.assert_close(trees.max[0], oracle.scores.max())
        (gradient,) = torch.autograd.grad(trees.entropy.sum(), one[0])
        assert gradient.isfinite().all(), b
        assert (trees.log_prob(trees.sample_heads(20)) > -torch.inf).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_samples_come_with_their_probabilities(kind, backend):
    scores, lengths = random_scores(2, 3, 3, seed=3), torch.tensor([3, 2])
    trees = DependencyTrees(scores, lengths, **kind, backend=backend)
    count = 4000 if backend == "compiled" else 400
    heads = trees.sample_heads(count, torch.Generator().manual_seed(1))
    for b, n in enumerate(lengths.tolist()):
        oracle = Enumerated(scores[b, :n, :n], kind)
        seen = (heads[:, b, None, :n] == oracle.heads).all(2).sum(0)
        assert seen.sum() == count
        assert chisquare(seen, count * oracle.probabilities).pvalue > 1e-3
    again = trees.sample_heads(count, torch.Generator().manual_seed(1))
    assert torch.equal(heads, again)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_arcs_are_sampled_as_often_as_their_marginals_say(kind, backend):
    scores, lengths, count = random_scores(2, 8, 8, seed=5), torch.tensor([8, 6]), 3000
    trees = DependencyTrees(scores, lengths, **kind, backend=backend)
    count = count if backend == "compiled" else 150
    drawn = trees.sample(count, torch.Generator().manual_seed(1))
    error = drawn.mean(0) - trees.marginals
    deviation = (trees.marginals * (1 - trees.marginals) / count).clamp_min(0).sqrt()
    assert (error.abs() <= 5 * deviation + 1 / count).all()


def test_walks_that_get_lost_are_sampled_word_by_word():
    """Two words almost surely choose each other, so a random walk circles for e^40 steps."""
    scores = torch.zeros(1, 3, 3, dtype=torch.float64)
    scores[0, 0, 1] = scores[0, 1, 0] = 40.0
    for single_root in (False, True):
        kind = {"projective": False, "single_root": single_root}
        trees = DependencyTrees(scores, **kind)
        heads = trees.sample_heads(400, torch.Generator().manual_seed(1))[:, 0]
        oracle = Enumerated(scores[0], kind)
        seen = (heads[:, None] == oracle.heads).all(2).sum(0)
        likely = oracle.probabilities > 1e-6
        assert seen[~likely].sum() == 0
        expected = 400 * oracle.probabilities[likely]
        assert chisquare(seen[likely], expected * 400 / expected.sum()).pvalue > 1e-3


def test_where_a_walk_gets_lost_the_root_stays():
    """Two words choose each other, unless one of them is the root's: in half of the trees."""
    scores = torch.zeros(1, 3, 3, dtype=torch.float64)
    scores[0, 0, 1] = scores[0, 1, 0] = scores[0, 0, 0] = scores[0, 2, 2] = 40.0
    trees = DependencyTrees(scores.expand(400, 3, 3), projective=False, single_root=True)
    heads = trees.sample_heads(1, torch.Generator().manual_seed(1))[0]
    assert (heads[:, 2] == 0).double().mean().item() == pytest.approx(0.5, abs=4 * 0.025)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(n=st.integers(1, 12), scale=st.sampled_from([0.01, 1.0, 30.0]), seed=st.integers(0, 999))
def test_laws_that_hold_for_every_kind(n, scale, seed):
    scores = random_scores(2, n, n, scale=scale, seed=seed)
    for param in KINDS:
        (kind,) = param.values
        trees = DependencyTrees(scores, **kind)
        marginals, best = trees.marginals, trees.argmax
        assert ((marginals >= 0) & (marginals <= 1 + 1e-9)).all()
        torch.testing.assert_close(marginals.sum(1), torch.ones(2, n, dtype=scores.dtype))
        assert trees.is_tree(trees.heads).all()
        assert trees.is_tree(trees.sample_heads(3)).all()
        assert (trees.max <= trees.log_partition + 1e-9).all()
        torch.testing.assert_close((best * scores).sum((1, 2)), trees.max)
        assert (trees.entropy > -1e-9).all()
        torch.testing.assert_close(
            trees.kl(DependencyTrees(scores, **kind)), torch.zeros(2, dtype=scores.dtype)
        )
        if kind["single_root"]:
            roots = marginals.diagonal(0, 1, 2).sum(1)
            torch.testing.assert_close(roots, torch.ones(2, dtype=scores.dtype))


def test_best_trees_of_all_kinds_agree_with_networkx():
    for seed in range(20):
        n = 9
        scores = random_scores(1, n, n, scale=3.0, seed=seed)
        graph = networkx.DiGraph()
        for m in range(n):
            for h in range(n):
                source = "root" if h == m else h
                graph.add_edge(source, m, weight=float(scores[0, h, m]))
        tree = networkx.maximum_spanning_arborescence(graph)
        expected = sum(attributes["weight"] for *_, attributes in tree.edges(data=True))
        best = DependencyTrees(scores, projective=False).max
        torch.testing.assert_close(best, torch.tensor([expected], dtype=best.dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_both_searches_find_trees_of_the_same_score(kind):
    """Longer sentences than can be enumerated, forbidden arcs, and scores with ties."""
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        n = int(torch.randint(1, 16, (1,), generator=generator))
        lengths = torch.randint(1, n + 1, (5,), generator=generator)
        scores = random_scores(5, n, n, scale=3.0, seed=seed)
        if seed % 3 == 0:
            forbidden = torch.rand(5, n, n, generator=generator) < 0.3
            forbidden[:, 0, :] = forbidden[:, 0, 0] = False  # leaves one tree at least
            scores = scores.masked_fill(forbidden, -torch.inf)
        if seed % 4 == 0:
            scores = scores.round()
        best = [DependencyTrees(scores, lengths, **kind, backend=name).max for name in BACKENDS]
        torch.testing.assert_close(*best)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mask", [-1e9, -1e15, -3e38])
def test_masks_that_are_finite_leave_the_best_tree_exact(mask, backend):
    for seed in range(20):
        scores = random_scores(1, 5, 5, seed=seed)
        forbidden = random_scores(1, 5, 5, seed=seed + 100) > 0.5
        forbidden[:, 0] = False  # leaves one tree at least
        trees = DependencyTrees(
            scores.masked_fill(forbidden, mask), projective=False, single_root=True, backend=backend
        )
        exact = DependencyTrees(
            scores.masked_fill(forbidden, -torch.inf), projective=False, single_root=True
        )
        torch.testing.assert_close(trees.max, exact.max)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.values[0]["projective"]])
def test_best_trees_of_float32_scores_are_best_up_to_rounding(kind):
    """Best trees are found in float32, unless the scores are too large for it."""
    for scale in (1e-3, 1.0, 1e3, 1e37):
        scores = random_scores(40, 40, 40, scale=scale, dtype=torch.float32)
        lengths = torch.arange(1, 41)
        trees = DependencyTrees(scores, lengths, **kind)
        exact = DependencyTrees(scores.double(), lengths, **kind)
        assert trees.is_tree(trees.heads).all()
        torch.testing.assert_close(exact.score(trees.heads), exact.max, rtol=1e-5, atol=0)
        assert (trees.heads == exact.heads).float().mean() > 0.99


def test_observed_heads_restrict_the_trees():
    scores = random_scores(2, 4, 4)
    known = torch.tensor([[-1, 1, -1, -1], [-1, -1, -1, 0]])
    for param in KINDS:
        (kind,) = param.values
        observed = DependencyTrees(scores, **kind).observe(known)
        for b in range(2):
            oracle = Enumerated(scores[b], kind)
            fits = ((known[b] < 0) | (oracle.heads == known[b])).all(1)
            expected = oracle.scores[fits].logsumexp(0)
            torch.testing.assert_close(observed.log_partition[b], expected)


def test_perturbed_trees_are_trees_and_vary():
    trees = DependencyTrees(random_scores(3, 5, 5), single_root=True)
    generator = torch.Generator().manual_seed(1)
    drawn = [trees.perturb_and_map(generator) for _ in range(20)]
    assert all(trees.is_tree(heads_of(arcs)).all() for arcs in drawn)
    assert len({tuple(arcs.flatten().tolist()) for arcs in drawn}) > 5


def test_is_tree_agrees_with_its_definition():
    every = torch.cartesian_prod(*[torch.arange(5)] * 4)
    lengths = torch.full((len(every),), 4)
    for projective in (False, True):
        expected = [
            all(h != m for m, h in enumerate(heads, 1))
            and is_tree(heads)
            and (not projective or is_projective(heads))
            for heads in map(tuple, every.tolist())
        ]
        assert is_tree_in_batch(every, lengths, projective=projective).tolist() == expected
    trees = DependencyTrees(random_scores(1, 3, 3), projective=False)
    assert trees.log_prob(torch.tensor([[2, 1, 0]])) == -torch.inf  # a cycle


def test_bad_knowledge_is_refused():
    trees = DependencyTrees(torch.zeros(1, 3, 3))
    for known, message in (
        (torch.tensor([[1, -1, -1]]), "word 0 of sentence 0 is its own head"),
        (torch.tensor([[4, -1, -1]]), "has head 4"),
        (torch.tensor([0, -1, -1]), "2 dimensions, not 1"),
        (torch.tensor([[True, False, False]]), "must be integers"),
    ):
        with pytest.raises(ValueError, match=message):
            trees.observe(known)
    with pytest.raises(TypeError, match="heads must be a tensor, not list"):
        trees.log_prob([[0, 1, 2]])
