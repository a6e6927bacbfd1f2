"""Peers of the structured-inference benchmark: other libraries and the usual methods."""

from collections.abc import Callable

import torch


class Peer:
    """Projective trees by torch-struct, whose score tensor must not be a leaf."""

    def __init__(self, scores: torch.Tensor):
        import torch_struct

        self.leaf = scores.clone().requires_grad_()
        self.make = lambda: torch_struct.DependencyCRF(self.leaf * 1.0)

    def gradient(self, value: torch.Tensor, weights: torch.Tensor | None = None):
        value = value if weights is None else value * weights
        return torch.autograd.grad(value.sum(), self.leaf)


def laplacian_determinant(leaf: torch.Tensor):
    """Log-determinant by LU, and its gradient: the usual method for matrix-tree marginals."""
    weights = leaf.exp()
    root = weights.diagonal(0, 1, 2)
    arcs = weights - torch.diag_embed(root)
    laplacian = torch.diag_embed(arcs.sum(1) + root) - arcs
    return torch.autograd.grad(torch.linalg.slogdet(laplacian)[1].sum(), leaf)


def by_networkx(scores: torch.Tensor):
    """Best trees of all sentences by networkx, one after the other."""
    import networkx

    for sentence in scores.tolist():
        graph = networkx.DiGraph()
        for h, row in enumerate(sentence):
            for m, weight in enumerate(row):
                graph.add_edge(-1 if h == m else h, m, weight=weight)
        networkx.maximum_spanning_arborescence(graph)


def by_supar(scores: torch.Tensor, verb: str, gradient: bool) -> Callable:
    """Inference by supar, whose scores are [modifier, head] with the root as word 0."""
    from supar.structs import DependencyCRF

    batch, n, _ = scores.shape
    leaf = torch.zeros(batch, n + 1, n + 1)
    leaf[:, 1:, 1:] = scores.transpose(1, 2)
    leaf[:, 1:, 0] = scores.diagonal(0, 1, 2)
    leaf.requires_grad_(gradient)
    lengths = torch.full((batch,), n)

    def call():
        value = getattr(DependencyCRF(leaf, lengths, multiroot=True), verb)
        return torch.autograd.grad(value.sum(), leaf) if gradient else value

    return call
