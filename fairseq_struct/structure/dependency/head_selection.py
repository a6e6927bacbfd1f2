"""Trees from scores with which each word selects a head independently."""

import torch
from torch import Tensor

from fairseq_struct.structure.checks import refuse_nan_and_infinity, sentence_lengths
from fairseq_struct.structure.dependency.distribution import DependencyTrees
from fairseq_struct.structure.precision import at_least_float32


def spanning_trees(scores: Tensor, lengths: Tensor, single_root: bool = True) -> Tensor:
    """Heads (batch, n), 1-based and 0 for the root, of the maximum spanning trees.

    The scores need not be log-probabilities: a constant added to a word's scores has no effect.

    Args:
        scores: (batch, n, n) [h, m] scores word h as head of word m, [m, m] the root as head of m.
        lengths: (batch,) words per sentence.
        single_root: only trees whose root has one modifier.
    """
    return trees_of_selection(scores, lengths, single_root).heads


def trees_of_selection(
    scores: Tensor, lengths: Tensor, single_root: bool = True
) -> DependencyTrees:  # fmt: skip
    """The distribution over trees, p(z) proportional to the exp of the sum of its arcs' scores.

    If the scores are log p(head), it is the distribution of independently selected heads, given
    that they form a tree.

    Args:
        scores, lengths, single_root: as for :func:`spanning_trees`.
    """
    scores = at_least_float32(scores.detach())
    return DependencyTrees(scores, lengths, projective=False, single_root=single_root)


def best_heads(scores: Tensor, lengths: Tensor, root: bool = False) -> Tensor:
    """Heads (batch, n) of each word's best score; they need not form a tree.

    "A token must attach to another" (Shen's thesis, section 4.3.2). As in the published code, the
    argmax leaves out the diagonal: only the word of a one-word sentence has the root as head. A
    word whose arcs are all -inf gets one of them.

    Args:
        scores, lengths: as for :func:`spanning_trees`.
        root: a word may also choose itself; this stands for the root.

    Raises:
        ValueError: a length out of range, or a score that is NaN or +inf.
    """
    n, scores = scores.size(-1), scores.detach()
    places = torch.arange(n, device=scores.device)
    lengths = sentence_lengths(lengths, scores)
    outside = places >= lengths[:, None]
    never = outside[:, :, None].expand_as(scores)
    if not root:
        never = never | torch.eye(n, dtype=torch.bool, device=scores.device)
    allowed = scores.masked_fill(never, -torch.inf).masked_fill(outside[:, None], 0.0)
    refuse_nan_and_infinity(allowed, "arc {1} -> {2} in sentence {0}")
    best = allowed.argmax(1)
    alone = lengths[:, None] == 1
    return torch.where((best == places) | alone, 0, best + 1).masked_fill(outside, 0)


def readings(scores: Tensor, lengths: Tensor, single_root: bool = True) -> dict[str, Tensor]:
    """Heads (batch, n) by each way to read the scores; keys are suffixes of metric names.

    The ways are maximum spanning trees (no suffix), each word's best head (``_argmax``), and each
    word's best head or the root (``_argmax_root``).

    Args:
        scores, lengths, single_root: as for :func:`spanning_trees`.
    """
    return {
        "": spanning_trees(scores, lengths, single_root),
        "_argmax": best_heads(scores, lengths),
        "_argmax_root": best_heads(scores, lengths, root=True),
    }
