"""Structured inference on a GPU is that of a CPU, verb by verb."""

import pytest
import torch
from gpu import DEVICE, exact_products, needs_gpu

from fairseq_struct.structure.dependency import DependencyTrees, ValenceTrees

pytestmark = needs_gpu
LENGTHS = torch.tensor([7, 1, 4, 6, 2])


def scores(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("backend", ["torch", "compiled"])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("verb", [
    "heads", "argmax", "max", "log_partition", "marginals", "entropy", "sparsemap",
])  # fmt: skip
def test_a_verb_and_its_gradient(verb, projective, single_root, backend):
    exact_products()
    found = {}
    for device in ("cpu", DEVICE):
        given = scores(5, 7, 7).to(device).requires_grad_()
        own = backend if device == DEVICE else "auto"
        trees = DependencyTrees(given, LENGTHS.to(device), projective, single_root, own)
        value = getattr(trees, verb)
        assert value.device.type == device
        found[device] = [value.detach().cpu()]
        if value.requires_grad:
            weights = scores(*value.shape).to(device)
            (own,) = torch.autograd.grad((value * weights).sum(), given)
            assert own.device.type == device
            found[device].append(own.cpu())
    assert len(found["cpu"]) == len(found[DEVICE])
    for here, there in zip(found["cpu"], found[DEVICE], strict=True):
        torch.testing.assert_close(there, here, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_samples_are_trees_and_have_the_marginals(projective, single_root):
    given = scores(5, 7, 7).to(DEVICE)
    trees = DependencyTrees(given, LENGTHS.to(DEVICE), projective, single_root)
    heads = trees.sample_heads(2000, torch.Generator(DEVICE).manual_seed(3))
    assert heads.device.type == DEVICE and trees.is_tree(heads).all()
    # Five standard errors of a mean of 2000 draws are at most 0.056.
    assert (trees.arcs(heads).mean(0) - trees.marginals).abs().max() < 0.056


def test_what_is_given_about_other_trees():
    found = {}
    for device in ("cpu", DEVICE):
        given, lengths = scores(5, 7, 7).to(device), LENGTHS.to(device)
        trees = DependencyTrees(given, lengths)
        target = (trees.marginals + 0.1 * scores(5, 7, 7).to(device).abs()) * trees.within
        known = torch.where(torch.arange(7, device=device) == 0, trees.heads, -1)
        found[device] = [
            trees.project(target, trees.within), trees.kl(trees.with_scores(2 * given)),
            trees.log_prob(trees.heads), trees.observe(known).marginals,
        ]  # fmt: skip
    for here, there in zip(found["cpu"], found[DEVICE], strict=True):
        torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("verb", ["heads", "log_partition", "marginals"])
def test_valence_trees(verb):
    given = scores(5, 7, 7), scores(5, 7, 2, 2, 2), scores(5, 7)
    here = getattr(ValenceTrees(*given, LENGTHS), verb)
    there = getattr(ValenceTrees(*(own.to(DEVICE) for own in given), LENGTHS.to(DEVICE)), verb)
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)
