"""Kinds of dependency trees, and sums over all trees, shared by several tests."""

import weakref

import pytest
import torch

from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.structure.dependency import DependencyTrees

KINDS = [
    pytest.param({"projective": projective, "single_root": single_root}, id=name)
    for name, projective, single_root in (
        ("projective", True, False),
        ("projective-single-root", True, True),
        ("all", False, False),
        ("all-single-root", False, True),
    )
]
BACKENDS = ["compiled", "torch"]


def random_scores(*shape, scale=1.0, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)


def decoders_of_trees(monkeypatch):
    """Weak references to all ``decoder_loss`` functions given to latent trees from now on."""
    seen, learn = [], LatentTree.learn

    def spy(self, scores, lengths, decoder_loss, *rest):
        seen.append(weakref.ref(decoder_loss))
        return learn(self, scores, lengths, decoder_loss, *rest)

    monkeypatch.setattr(LatentTree, "learn", spy)
    return seen


class Enumerated:
    """One sentence's distribution, with every tree written out."""

    def __init__(self, scores, kind):
        n = len(scores)
        self.heads = DependencyTrees(scores[None], **kind).enumerate()[0]
        rows = torch.where(self.heads == 0, torch.arange(n), self.heads - 1)
        self.arcs = torch.zeros(len(self.heads), n, n, dtype=scores.dtype)
        self.arcs.scatter_(1, rows[:, None], 1.0)
        # Forbidden arcs: avoid -inf times 0.
        self.scores = scores[rows, torch.arange(n)].sum(1)
        self.log_partition = self.scores.logsumexp(0)
        self.probabilities = (self.scores - self.log_partition).exp()
        self.marginals = (self.probabilities[:, None, None] * self.arcs).sum(0)
        logs = (self.scores - self.log_partition).masked_fill(self.probabilities == 0, 0.0)
        self.entropy = -(self.probabilities * logs).sum()
