"""Scores that are changed after they were given, and forward-mode derivatives."""

import copy

import pytest
import torch
from torch.autograd import forward_ad

from fairseq_struct.modules.scheduled_sampling.embedding_mix import EmbeddingMix
from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.dependency import DependencyTrees, ValenceTrees

KINDS = [
    {"projective": projective, "backend": backend}
    for projective in (True, False)
    for backend in ("compiled", "torch")
]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_that_were_changed_in_place_are_refused(kind):
    scores = torch.nn.Parameter(torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(1)))
    trees = DependencyTrees(scores, **kind)
    heads = trees.heads
    assert (trees.log_prob(heads) <= 0).all()
    with torch.no_grad():
        scores[0, 0, 0] += 5.0  # as an optimiser's step
    for use in (
        lambda: trees.entropy, lambda: trees.marginals, lambda: trees.log_partition,
        lambda: trees.max, lambda: trees.sparsemap, lambda: trees.log_prob(heads),
        lambda: trees.observe(heads), trees.perturbed,
        lambda: DependencyTrees(scores, **kind).kl(trees),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="changed in place since; make new trees of them"):
            use()
    assert "batch=2, n=3" in repr(trees)
    assert torch.isfinite(copy.deepcopy(trees).entropy).all()  # a copy is of the new scores


def test_other_parts_of_a_tensor_may_change():
    every = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(2))
    trees = DependencyTrees(every[:1])
    before = trees.score(trees.heads)
    every[1] = 0.0
    every[0] += 0.0
    assert torch.equal(trees.score(trees.heads), before)


@pytest.mark.parametrize("name", ["log_partition", "marginals", "entropy", "max", "sparsemap"])
@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_is_refused_where_there_is_no_derivative(kind, name):
    scores = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(3))
    with forward_ad.dual_level():
        trees = DependencyTrees(forward_ad.make_dual(scores, torch.ones_like(scores)), **kind)
        with pytest.raises(NotImplementedError, match="jvp"):
            getattr(trees, name)


def test_forward_and_reverse_mode_agree_for_trees_with_valence():
    draw = torch.Generator().manual_seed(4)
    attach, stop, root = (
        torch.randn(shape, generator=draw, dtype=torch.float64)
        for shape in ((1, 3, 3, 2), (1, 3, 2, 2, 2), (1, 3))
    )

    direction = torch.randn(attach.shape, generator=draw, dtype=torch.float64)
    with forward_ad.dual_level():
        trees = ValenceTrees(forward_ad.make_dual(attach, direction), stop, root)
        forward = forward_ad.unpack_dual(trees.marginals).tangent
    _, backward = torch.autograd.functional.jvp(  # reverse mode, twice
        lambda scores: ValenceTrees(scores, stop, root).marginals, attach, direction
    )
    assert backward.abs().max() > 0.01
    torch.testing.assert_close(forward, backward)


def test_a_mix_has_the_same_derivative_in_both_modes():
    scores = torch.randn(2, 5, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    embeddings, mix = torch.eye(5, dtype=torch.float64), EmbeddingMix("softmax")
    forward, backward = (
        derive(lambda given: mix(given, embeddings))(scores)
        for derive in (torch.func.jacfwd, torch.func.jacrev)
    )
    assert backward.abs().sum() > 1
    torch.testing.assert_close(forward, backward)


def test_trees_made_in_inference_mode_have_gradients_later():
    scores = torch.randn(2, 3, 3, requires_grad=True)
    with torch.inference_mode():
        trees = DependencyTrees(scores)
    trees.log_partition.sum().backward()
    torch.testing.assert_close(scores.grad, trees.marginals.detach())


def test_attachments_of_a_single_word_have_gradients_of_zero():
    attach = torch.randn(2, 1, 1, requires_grad=True)
    trees = ValenceTrees(attach, torch.randn(2, 1, 2, 2, 2), torch.randn(2, 1))
    trees.log_partition.sum().backward()
    assert torch.equal(attach.grad, torch.zeros(2, 1, 1))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_heads_may_be_unsigned(dtype):
    trees = DependencyTrees(torch.randn(2, 4, 4), lengths=[4, 3])
    heads = trees.heads.to(dtype)
    assert trees.is_tree(heads).all()
    assert torch.equal(trees.score(heads), trees.max)
    assert torch.equal(trees.arcs(heads), trees.argmax)
    assert torch.equal(trees.observe(heads).heads, trees.heads)


def test_choices_in_half_precision_can_be_copied():
    leaf = torch.randn(2, 3, dtype=torch.bfloat16, requires_grad=True)
    choices = copy.deepcopy(Categorical(leaf))
    assert torch.equal(choices.marginals, Categorical(leaf).marginals)
