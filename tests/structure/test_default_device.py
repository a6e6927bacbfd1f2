"""Results are on the scores' device, whatever torch's default device is."""

import pytest
import torch

from fairseq_struct.structure.dependency import DependencyTrees, ValenceTrees

LENGTHS = torch.tensor([5, 3])


def results(scores, **kind):
    """All verbs, and a gradient through those that have one."""
    given = scores.clone().requires_grad_()
    trees = DependencyTrees(given, LENGTHS, **kind)
    values = [trees.heads, trees.argmax, trees.max, trees.marginals, trees.log_partition]
    values += [trees.entropy, trees.sparsemap]
    values += [trees.sample(3, generator=torch.Generator().manual_seed(1))]
    loss = trees.entropy.sum() + (trees.marginals**2).sum() + (trees.sparsemap**2).sum()
    return [*values, *torch.autograd.grad(loss, given)]


@pytest.mark.parametrize("backend", ["compiled", "torch"])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_trees(backend, projective, single_root):
    generator = torch.Generator().manual_seed(3)
    kind = {"projective": projective, "single_root": single_root, "backend": backend}
    # Scores beyond the range of probability space take the way through the log domain.
    for factor in (1, 1e4):
        scores = factor * torch.randn(2, 5, 5, generator=generator, dtype=torch.double)
        expected = results(scores, **kind)
        with torch.device("meta"):  # as it is with "cuda": what is made there cannot be read here
            found = results(scores, **kind)
        assert all(map(torch.equal, found, expected))


def test_trees_with_valence():
    generator = torch.Generator().manual_seed(3)
    shapes = ((2, 5, 5), (2, 5, 2, 2, 2), (2, 5))
    scores = [torch.randn(shape, generator=generator) for shape in shapes]

    def values():
        trees = ValenceTrees(*scores, LENGTHS)
        return trees.heads, trees.marginals, trees.log_partition, trees.max

    expected = values()
    with torch.device("meta"):
        assert all(map(torch.equal, values(), expected))
