"""Latent trees and a decoder that reads them, shared by tests of surrogate gradients."""

import torch
from tree_kinds import random_scores

from fairseq_struct.structure.dependency import DependencyTrees

LENGTHS = torch.tensor([4, 2, 3])


def trees(scores):
    return DependencyTrees(scores, LENGTHS)


class Decoder:
    """Losses (<w, z> + a <w, z>^2) per instance; counts its calls."""

    def __init__(self, scores):
        self.weights = random_scores(*scores.shape, seed=7).requires_grad_()
        self.calls = []

    def __call__(self, value):
        self.calls.append(value.detach().clone())
        inner = (self.weights * value).flatten(1).sum(1)
        return inner + 0.3 * inner.square()

    def gamma(self, mu):
        mu = mu.detach().requires_grad_()
        return torch.autograd.grad(self(mu).sum(), mu)[0]
