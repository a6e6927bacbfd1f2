"""Every sum, maximum and sample over trees against all trees written out, and their gradients."""

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tree_kinds import BACKENDS, KINDS, Enumerated, random_scores

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.enumeration import all_heads, is_projective, is_tree
from fairseq_struct.structure.heads import heads_of
from fairseq_struct.structure.heads import is_tree as is_tree_in_batch

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
    for verb in (
        lambda given: trees(given).log_partition,
        lambda given: trees(given).marginals,
        lambda given: trees(given).entropy,
        lambda given: trees(given).log_prob(heads),
        lambda given: trees(given).kl(trees(given.flip(1))),
    ):
        assert torch.autograd.gradcheck(verb, scores)
        assert torch.autograd.gradgradcheck(verb, scores)


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
    count = 4000 if backend == "compiled" else 800
    heads = trees.sample_heads(count, torch.Generator().manual_seed(1))
    for b, n in enumerate(lengths.tolist()):
        oracle = Enumerated(scores[b, :n, :n], kind)
        seen = (heads[:, b, None, :n] == oracle.heads).all(2).sum(0)
        assert seen.sum() == count
        assert chisquare(seen, count * oracle.probabilities).pvalue > 1e-3
    again = trees.sample_heads(count, torch.Generator().manual_seed(1))
    assert torch.equal(heads, again)


def test_walks_that_get_lost_are_sampled_word_by_word():
    """Two words that all but choose each other: a random walk circles for e^40 steps."""
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


@settings(max_examples=40, deadline=None)
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
    """They are found in float32, unless the scores are too large for it."""
    for scale in (1e-3, 1.0, 1e3, 1e37):
        scores = random_scores(40, 40, 40, scale=scale, dtype=torch.float32)
        lengths = torch.arange(1, 41)
        trees = DependencyTrees(scores, lengths, **kind)
        exact = DependencyTrees(scores.double(), lengths, **kind)
        assert trees.is_tree(trees.heads).all()
        torch.testing.assert_close(exact.score(trees.heads), exact.max, rtol=1e-5, atol=0)
        assert (trees.heads == exact.heads).float().mean() > 0.99


def test_empty_batches_and_single_words():
    for param in KINDS:
        (kind,) = param.values
        for backend in BACKENDS:
            empty = DependencyTrees(torch.zeros(0, 3, 3), **kind, backend=backend)
            assert empty.heads.shape == (0, 3) and empty.marginals.shape == (0, 3, 3)
            score = torch.tensor([[[0.7]]], dtype=torch.float64, requires_grad=True)
            word = DependencyTrees(score, **kind, backend=backend)
            assert word.marginals.item() == pytest.approx(1.0)
            (gradient,) = torch.autograd.grad(word.entropy.sum() + word.marginals.sum(), score)
            assert gradient.abs().max() < 1e-12


def test_a_sentence_does_not_depend_on_its_batch():
    """Bit for bit: compiled kernels add in the same order whatever lies beside a sentence."""
    lengths = torch.tensor([9, 3, 7, 1, 12, 5, 12, 2, 8, 11])
    scores = random_scores(len(lengths), 12, 12)
    for param in KINDS:
        (kind,) = param.values
        together = DependencyTrees(scores, lengths, **kind)
        for b, n in enumerate(lengths.tolist()):
            alone = DependencyTrees(scores[b : b + 1, :n, :n], **kind)
            for verb in ("log_partition", "marginals", "argmax", "entropy", "sparsemap"):
                whole = getattr(together, verb)[b]
                part = getattr(alone, verb)[0]
                whole = whole[:n, :n] if whole.dim() else whole
                torch.testing.assert_close(part, whole, atol=1e-13, rtol=1e-13)


def test_results_have_the_precision_of_the_scores():
    scores = random_scores(2, 6, 6, dtype=torch.float16).requires_grad_()
    exact = scores.detach().double().requires_grad_()
    for param in KINDS:
        (kind,) = param.values
        half, double = DependencyTrees(scores, **kind), DependencyTrees(exact, **kind)
        assert half.marginals.dtype == half.log_partition.dtype == torch.float16
        torch.testing.assert_close(half.marginals, double.marginals.half())
        heads = double.heads
        torch.testing.assert_close(half.log_prob(heads), double.log_prob(heads).half())
        (gradient,) = torch.autograd.grad(half.entropy.sum(), scores)
        (expected,) = torch.autograd.grad(double.entropy.sum(), exact)
        torch.testing.assert_close(gradient, expected.half(), atol=1e-3, rtol=1e-2)


def test_observed_heads_restrict_the_trees():
    scores = random_scores(2, 4, 4)
    known = torch.tensor([[-1, 1, -1, -1], [-1, -1, -1, 0]])
    for param in KINDS:
        (kind,) = param.values
        observed = DependencyTrees(scores, **kind).observe(known)
        for b in range(2):
            oracle = Enumerated(scores[b], kind)
            fits = ((known[b] < 0) | (oracle.heads == known[b])).all(1)
            torch.testing.assert_close(
                observed.log_partition[b], oracle.scores[fits].logsumexp(0)
            )


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
        got = is_tree_in_batch(every, lengths, projective=projective)
        assert got.tolist() == expected
    trees = DependencyTrees(random_scores(1, 3, 3), projective=False)
    assert trees.log_prob(torch.tensor([[2, 1, 0]])) == -torch.inf  # a cycle


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (torch.zeros(2, 3), {}, r"shape \(batch, n, n\)"),
        (torch.zeros(2, 3, 4), {}, r"not \(2, 3, 4\)"),
        (torch.zeros(1, 0, 0), {}, "n >= 1"),
        (torch.zeros(1, 2, 2).long(), {}, "floating point"),
        (torch.full((1, 2, 2), torch.nan), {}, "the score of arc 0 -> 0 in sentence 0 is nan"),
        (torch.full((1, 2, 2), torch.inf), {}, "is inf: scores must be finite"),
        (torch.zeros(2, 3, 3), {"lengths": torch.tensor([3, 0])}, "sentence 1 has length 0"),
        (torch.zeros(2, 3, 3), {"lengths": torch.tensor([4, 1])}, "sentence 0 has length 4"),
        (torch.zeros(2, 3, 3), {"lengths": torch.tensor([3])}, "lengths must be 2 integers"),
        (torch.zeros(2, 3, 3), {"backend": "c"}, "unknown backend 'c'"),
    ],
)
def test_bad_scores_are_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        DependencyTrees(scores, **options)


def test_things_that_are_no_scores_and_no_counts_are_refused():
    with pytest.raises(TypeError, match="scores must be a tensor, not list"):
        DependencyTrees([[[0.0]]])
    with pytest.raises(TypeError, match="scores must be a tensor, not ndarray"):
        Categorical(torch.zeros(1, 2).numpy())
    for distribution in (DependencyTrees(torch.zeros(1, 2, 2)), Categorical(torch.zeros(1, 2))):
        with pytest.raises(ValueError, match="count must be 1 or more, not -1"):
            distribution.sample(-1)
        with pytest.raises(TypeError, match=r"count must be an integer, not 1\.5"):
            distribution.sample(1.5)
    trees = DependencyTrees(torch.zeros(1, 2, 2))
    with pytest.raises(ValueError, match="most_steps must be 1 or more"):
        trees.solve_sparsemap(most_steps=0)
    with pytest.raises(ValueError, match="tolerance must be above 0"):
        trees.solve_sparsemap(tolerance=0.0)


def test_scores_of_inference_mode_can_be_used_outside():
    layer = torch.nn.Linear(3, 3)
    with torch.inference_mode():
        scores = layer(torch.ones(2, 3, 3))
    trees = DependencyTrees(scores)
    assert trees.marginals.isfinite().all() and trees.log_partition.isfinite().all()
    assert trees.sparsemap.isfinite().all()


def test_bad_heads_are_refused():
    trees = DependencyTrees(torch.zeros(1, 3, 3), torch.tensor([2]))
    with pytest.raises(ValueError, match="word 1 of sentence 0 has head 3; heads are 0"):
        trees.log_prob(torch.tensor([[0, 3, 9]]))
    with pytest.raises(ValueError, match=r"heads must be integers of shape \(..., 1, 3\)"):
        trees.log_prob(torch.tensor([[0, 1]]))
    with pytest.raises(ValueError, match="same sentences and trees"):
        trees.kl(DependencyTrees(torch.zeros(1, 3, 3)))
