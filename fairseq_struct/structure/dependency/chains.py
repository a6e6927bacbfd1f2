"""Trees that depend on a sentence's length only: baselines of dependency parsing."""

from torch import Generator, Tensor, zeros

from fairseq_struct.structure.dependency.distribution import DependencyTrees
from fairseq_struct.structure.dependency.heads import heads_of


def right_chain(length: int) -> list[int]:
    """Heads, 1-based and 0 for the root: every word depends on the word before it."""
    return list(range(length))


def left_chain(length: int) -> list[int]:
    """Heads, 1-based and 0 for the root: every word depends on the word after it."""
    return [*range(2, length + 1), 0] if length else []


def random_trees(lengths: Tensor, generator: Generator) -> Tensor:
    """Heads (batch, n) of trees drawn uniformly from all trees with a single root.

    Args:
        lengths: (batch,) words per sentence.
        generator: source of randomness.
    """
    longest = int(lengths.max())
    scores = zeros(len(lengths), longest, longest, device="cpu")
    trees = DependencyTrees(scores, lengths.cpu(), projective=False, single_root=True)
    return heads_of(trees.sample(1, generator)[0])
