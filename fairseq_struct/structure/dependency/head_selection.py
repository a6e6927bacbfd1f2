"""Trees from scores by which each word selects a head of its own."""

import torch
from torch import Tensor

from fairseq_struct.structure.dependency.distribution import DependencyTrees


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


def best_heads(scores: Tensor, lengths: Tensor, root: bool = False) -> Tensor:
    """Heads (batch, n) that each word by itself likes best; they need not form a tree.

    "A token must attach to another" (Shen's thesis, section 4.3.2), and the published argmax leaves
    out the diagonal: only a word that is alone in its sentence is the root's.

    Args:
        scores, lengths: as for :func:`spanning_trees`.
        root: a word may choose itself, too, which stands for the root.
    """
    n = scores.size(-1)
    places = torch.arange(n, device=scores.device)
    outside = places >= lengths.to(scores.device)[:, None]
    never = outside[:, :, None].expand_as(scores)
    if not root:
        never = never | torch.eye(n, dtype=torch.bool, device=scores.device)
    best = scores.detach().masked_fill(never, -torch.inf).argmax(1)
    alone = lengths.to(scores.device)[:, None] == 1
    return torch.where((best == places) | alone, 0, best + 1).masked_fill(outside, 0)


def readings(scores: Tensor, lengths: Tensor, single_root: bool = True) -> dict[str, Tensor]:
    """Heads (batch, n) in every way that scores are read, by what is put behind a metric's name.

    They are those of trees (nothing behind it), of words by themselves (``_argmax``), and of words
    that may choose the root, too (``_argmax_root``).

    Args:
        scores, lengths, single_root: as for :func:`spanning_trees`.
    """
    return {
        "": spanning_trees(scores, lengths, single_root),
        "_argmax": best_heads(scores, lengths),
        "_argmax_root": best_heads(scores, lengths, root=True),
    }
