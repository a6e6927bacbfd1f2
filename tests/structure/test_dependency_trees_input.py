"""The form of the scores does not change the trees, and impossible input is refused."""

import copy
import pickle

import pytest
import torch
from tree_kinds import BACKENDS, KINDS, random_scores

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.independent import Independent


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_layout_in_memory_changes_nothing(kind, backend):
    scores = random_scores(3, 5, 5)
    layouts = [
        scores.transpose(1, 2).contiguous().transpose(1, 2),
        scores.permute(1, 2, 0).contiguous().permute(2, 0, 1),
        torch.stack([scores, scores], 3)[..., 0],
        scores[:1].expand(3, 5, 5),
    ]
    for strided in layouts:
        results = []
        for layout in (strided, strided.contiguous()):
            leaf = layout.detach().clone(memory_format=torch.preserve_format).requires_grad_()
            trees = DependencyTrees(leaf, **kind, backend=backend)
            drawn = trees.sample(3, torch.Generator().manual_seed(1))
            sums = [trees.log_partition, trees.entropy, trees.marginals, trees.sparsemap]
            gradients = torch.autograd.grad((trees.marginals**2).sum(), leaf, create_graph=True)
            gradients += torch.autograd.grad((gradients[0] ** 2).sum(), leaf)
            results.append([trees.argmax, drawn, *sums, *gradients])
        for first, second in zip(*results, strict=True):
            torch.testing.assert_close(first, second, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_computed_without_gradients_is_no_obstacle_to_them(kind):
    scores, heads = random_scores(2, 4, 4).requires_grad_(), torch.tensor([[0, 1, 2, 3]] * 2)
    other = DependencyTrees(random_scores(2, 4, 4, seed=1), **kind)
    for mode in (torch.no_grad, torch.inference_mode):
        for verb in (
            lambda trees: trees.entropy, lambda trees: trees.log_prob(heads),
            lambda trees: trees.kl(other), lambda trees: trees.marginals**2,
            lambda trees: trees.log_partition, lambda trees: trees.sparsemap**2,
        ):  # fmt: skip
            fresh, used = DependencyTrees(scores, **kind), DependencyTrees(scores, **kind)
            with mode():
                for value in (used.log_partition, used.marginals, used.sparsemap, used.argmax):
                    assert not value.requires_grad
            expected, got = (
                torch.autograd.grad(verb(trees).sum(), scores)[0] for trees in (fresh, used)
            )
            torch.testing.assert_close(got, expected)


def test_gradients_where_the_squared_sum_over_trees_leaves_the_range_of_float64():
    for far in (353.0, 362.0, 372.0, 380.0):
        scores = torch.tensor([[[-far, 0.0], [0.0, -far]]], dtype=torch.float64)
        of_both = []
        for backend in BACKENDS:
            leaf = scores.clone().requires_grad_()
            trees = DependencyTrees(leaf, backend=backend)
            value = trees.entropy.sum() + trees.marginals[0, 0, 0]
            of_both.append(torch.autograd.grad(value, leaf)[0])
        torch.testing.assert_close(*of_both, atol=1e-9, rtol=0)


def test_lengths_that_change_later_change_nothing():
    lengths, scores = torch.tensor([2, 3]), random_scores(2, 3, 3)
    trees, expected = (DependencyTrees(scores, given) for given in (lengths, lengths.clone()))
    lengths.fill_(500)
    assert torch.equal(trees.heads, expected.heads)
    assert torch.equal(trees.marginals, expected.marginals)


@pytest.mark.parametrize("backend", BACKENDS)
def test_samples_in_inference_mode(backend):
    scores = random_scores(2, 4, 4) - 1e4 * torch.eye(4)
    with torch.inference_mode():
        trees = DependencyTrees(scores, projective=False, backend=backend)
        assert trees.is_tree(trees.sample_heads(3)).all()


def test_small_differences_beside_large_ones_decide_in_float32():
    """The root must take one of two words: both choices cost 1e8, and one a little more."""
    scores = torch.tensor([[[-1e8, 0.0], [1.0, -1e8]]])
    for kind in ({"projective": True}, {"projective": False}, {"single_root": True}):
        for backend in BACKENDS:
            trees = DependencyTrees(scores, **kind, backend=backend)
            assert trees.heads.tolist() == [[2, 0]]


def test_verbs_can_be_differentiated_one_after_the_other():
    scores = random_scores(2, 4, 4).requires_grad_()
    trees = DependencyTrees(scores, torch.tensor([4, 3]))
    trees.log_partition.sum().backward()
    trees.entropy.sum().backward()
    both = scores.grad.clone()
    scores.grad = None
    trees = DependencyTrees(scores, torch.tensor([4, 3]))
    (trees.log_partition + trees.entropy).sum().backward()
    torch.testing.assert_close(scores.grad, both)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mask", [-1e9, -1e14, -1e20, -3e38])
def test_finite_masks_of_any_size_act_as_forbidden_arcs(kind, backend, mask):
    """Masks in rows, in columns (the word then has any head), and where every tree needs one."""
    scores = random_scores(1, 4, 4)
    row = scores.clone()
    row[0, 1, [0, 2, 3]] = mask
    exact = row.masked_fill(row == mask, -torch.inf)
    got, expected = (DependencyTrees(s, **kind, backend=backend) for s in (row, exact))
    for name in ("marginals", "log_partition", "entropy", "argmax"):
        torch.testing.assert_close(getattr(got, name), getattr(expected, name))
    column = scores.clone()
    column[0, :, 2] = mask
    free = scores.clone()
    free[0, :, 2] = 0.0
    got, expected = (DependencyTrees(s, **kind, backend=backend) for s in (column, free))
    for name in ("marginals", "entropy"):
        torch.testing.assert_close(getattr(got, name), getattr(expected, name))
    assert got.is_tree(got.sample_heads(5)).all() and got.is_tree(got.heads).all()
    everything = DependencyTrees(torch.full((1, 4, 4), mask).double(), **kind, backend=backend)
    flat = DependencyTrees(torch.zeros(1, 4, 4).double(), **kind, backend=backend)
    torch.testing.assert_close(everything.marginals, flat.marginals)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("mask", "difference"), [(-1e10, 1.0), (-1e20, 0.0)])
def test_a_mask_that_every_tree_needs_is_no_prohibition(backend, mask, difference):
    """Two words with a single root need an arc from word to word; both such arcs are masked."""
    scores = torch.tensor([[[difference, mask], [mask, 0.0]]], dtype=torch.float64)
    for projective in (True, False):
        trees = DependencyTrees(scores, projective=projective, single_root=True, backend=backend)
        root = torch.tensor([difference, 0.0], dtype=torch.float64).softmax(0)
        torch.testing.assert_close(trees.marginals[0].diagonal(), root, atol=1e-5, rtol=0)
        torch.testing.assert_close(trees.marginals.sum(1), torch.ones(1, 2).double())
        assert trees.heads.tolist() in ([[[0, 1]]] if difference else [[[0, 1]], [[2, 0]]])
        assert trees.entropy.isfinite().all()


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


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_trees_made_of_trees_have_results_in_their_precision(dtype):
    scores = random_scores(2, 4, 4, dtype=dtype)
    known = torch.full((2, 4), -1)
    known[:, 1] = 1
    exact = DependencyTrees(scores.double())
    one, other = DependencyTrees(scores), Independent(scores[:, None], DependencyTrees)
    for trees, heads in ((one, known), (other, known[:, None])):
        generator, again = (torch.Generator().manual_seed(1) for _ in range(2))
        noisy, observed = trees.perturbed(generator), trees.observe(heads)
        expected = exact.perturbed(again)
        for found, right in ((noisy, expected), (observed, exact.observe(known))):
            for name in ("marginals", "log_partition", "entropy", "argmax", "sparsemap"):
                value = getattr(found, name)
                assert value.dtype == dtype
                assert torch.equal(value.squeeze(), getattr(right, name).to(dtype).squeeze())
    assert one.perturbed().observe(known).marginals.dtype == dtype
    assert other.perturbed().observe(known[:, None]).marginals.dtype == dtype
    assert copy.deepcopy(one.perturbed()).marginals.dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_divergence_where_there_is_no_probability(kind):
    """What p makes 0 adds nothing, also where q forbids it, and the gradient is right."""
    arc = torch.zeros(1, 3, 3, dtype=torch.bool)
    arc[0, 0, 1] = True

    def kl(given, others):
        others = others.masked_fill(arc, -torch.inf)
        return DependencyTrees(given, **kind).kl(DependencyTrees(others, **kind))

    scores, others = (random_scores(1, 3, 3, seed=seed).requires_grad_() for seed in (1, 2))
    assert kl(scores, others).item() == torch.inf
    unlikely = (scores.detach() - 3000.0 * arc).requires_grad_()
    without = scores.detach().masked_fill(arc, -torch.inf)
    torch.testing.assert_close(kl(unlikely, others), kl(without, others))
    assert torch.autograd.gradcheck(kl, (unlikely, others))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.uint16, torch.uint64])
def test_lengths_of_any_integers(dtype):
    trees = DependencyTrees(torch.zeros(2, 4, 4), torch.tensor([2, 3]).to(dtype))
    assert trees.lengths.dtype == torch.int64 and trees.lengths.tolist() == [2, 3]
    with pytest.raises(ValueError, match="sentence 1 has length 5; allowed are 1 to 4"):
        DependencyTrees(torch.zeros(2, 4, 4), torch.tensor([2, 5]).to(dtype))


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
    with pytest.raises(TypeError, match=r"sparsemap_steps must be an integer, not 2\.5"):
        DependencyTrees(torch.zeros(1, 2, 2), sparsemap_steps=2.5)


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


def test_copies_are_the_same_distribution():
    trees = DependencyTrees(random_scores(2, 4, 4), torch.tensor([4, 2]), single_root=True)
    trees.marginals  # noqa: B018 - what is computed does not stand in the way
    for copied in (copy.deepcopy(trees), pickle.loads(pickle.dumps(trees))):
        assert torch.equal(copied.marginals, trees.marginals)
        assert torch.equal(copied.heads, trees.heads)
        assert (copied.projective, copied.single_root) == (True, True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_to_a_result_changes_no_other(kind):
    trees = DependencyTrees(random_scores(2, 4, 4), **kind)
    names = ("heads", "max", "argmax", "marginals", "sparsemap", "lengths", "within")
    expected = [getattr(trees, name) for name in names]
    for name in names:
        getattr(trees, name).zero_()
    assert all(torch.equal(getattr(trees, n), e) for n, e in zip(names, expected, strict=True))
