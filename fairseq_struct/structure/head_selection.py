"""Trees from scores by which each word selects a head of its own."""

import torch
from torch import Tensor

from fairseq_struct.structure.dependency import DependencyTrees


def spanning_trees(scores: Tensor, lengths: Tensor, single_root: bool = True) -> Tensor:
    """Heads (batch, n), 1-based and 0 for the root, of the maximum spanning trees.

    The scores may be log-probabilities or not: what a word's have in common counts in every tree.

    Args:
        scores: (batch, n, n) of word h as head of word m at [h, m], of the root at [m, m].
        lengths: (batch,) words per sentence.
        single_root: only trees whose root has one modifier.
    """
    scores = scores.detach().float()
    trees = DependencyTrees(scores, lengths, projective=False, single_root=single_root)
    return trees.heads


def best_heads(scores: Tensor, lengths: Tensor) -> Tensor:
    """Heads (batch, n) that each word by itself likes best; they need not form a tree.

    Args:
        scores, lengths: as for :func:`spanning_trees`.
    """
    n = scores.size(-1)
    places = torch.arange(n, device=scores.device)
    outside = places >= lengths.to(scores.device)[:, None]
    best = scores.detach().masked_fill(outside[:, :, None], -torch.inf).argmax(1)
    return torch.where(best == places, 0, best + 1).masked_fill(outside, 0)
