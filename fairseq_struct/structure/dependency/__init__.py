"""Dependency trees: their distribution and functions of heads; inference is internal."""

from fairseq_struct.structure.dependency.chains import left_chain, random_trees, right_chain
from fairseq_struct.structure.dependency.distribution import DependencyTrees
from fairseq_struct.structure.dependency.entropy_dual import largest_entropy
from fairseq_struct.structure.dependency.head_selection import (
    best_heads,
    readings,
    spanning_trees,
    trees_of_selection,
)
from fairseq_struct.structure.dependency.heads import (
    arcs_of,
    arcs_that_fit,
    depths,
    heads_of,
    is_tree,
)
from fairseq_struct.structure.dependency.valence.trees import ValenceTrees

__all__ = [
    "DependencyTrees", "ValenceTrees", "arcs_of", "arcs_that_fit", "best_heads", "depths",
    "heads_of", "is_tree", "largest_entropy", "left_chain", "random_trees", "readings",
    "right_chain", "spanning_trees", "trees_of_selection",
]  # fmt: skip
