"""The CPU's kernels serve scores on another device, which the CPU plays; see other_device.py."""

import pytest
import torch
from other_device import DEVICE, from_device, other_device, to_device

from fairseq_struct.structure.dependency import DependencyTrees

LENGTHS = torch.tensor([6, 1, 4])
VERBS = ("heads", "log_partition", "marginals", "entropy", "sparsemap")


def scores(number: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(number)
    return torch.randn(3, 6, 6, dtype=torch.float64, generator=generator)


def results(move, kind: dict) -> list[torch.Tensor]:
    """All verbs, and the gradients and second-order gradients of those that have some."""
    found = []
    for verb in VERBS:
        given = move(scores()).requires_grad_()
        trees = DependencyTrees(given, move(LENGTHS), **kind)
        assert trees.backend == "compiled"
        value = getattr(trees, verb)
        found.append(value)
        if value.requires_grad:
            weights = move(scores(2)) if value.dim() == 3 else move(scores(2)[:, 0, 0])
            more = verb != "sparsemap"
            (first,) = torch.autograd.grad((value * weights).sum(), given, create_graph=more)
            found.append(first)
            if more:
                found += torch.autograd.grad((first * move(scores(3))).sum(), given)
    trees = DependencyTrees(move(scores()), move(LENGTHS), **kind)
    return [*found, trees.log_prob(trees.heads), trees.kl(trees.with_scores(move(scores(4))))]


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_results_are_those_of_the_cpu(projective, single_root):
    kind = {"projective": projective, "single_root": single_root, "backend": "compiled"}
    here = results(lambda tensor: tensor.clone(), kind)
    with other_device():
        there = results(to_device, kind)
        assert all(value.device == DEVICE for value in there)
    for ours, theirs in zip(there, here, strict=True):
        torch.testing.assert_close(from_device(ours), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("projective", [False, True])
def test_samples_follow_the_generator_of_the_device(projective):
    with other_device():
        trees = DependencyTrees(
            to_device(scores()), to_device(LENGTHS), projective, backend="compiled"
        )
        draws = [
            trees.sample_heads(50, torch.Generator(DEVICE).manual_seed(seed)) for seed in (1, 1, 2)
        ]
        assert draws[0].device == DEVICE and from_device(trees.is_tree(draws[0])).all()
    first, again, other = map(from_device, draws)
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_auto_is_the_faster_one():
    with other_device():
        given = to_device(scores())
        assert DependencyTrees(given).backend == "torch"
        assert DependencyTrees(given, projective=False).backend == "compiled"
    assert DependencyTrees(scores()).backend == "compiled"
