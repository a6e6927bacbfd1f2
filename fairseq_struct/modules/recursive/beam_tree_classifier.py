"""Classifiers that encode each sentence along its best trees, found with a beam."""

from torch import Tensor, nn

from fairseq_struct.modules.classification import VectorClassifier, perceptron
from fairseq_struct.modules.recursive.beam_tree import BeamTree
from fairseq_struct.modules.recursive.cells import TreeCell
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, MergedTrees


class BeamTreeClassifier(VectorClassifier):
    """Classifier of one sentence or two by a :class:`.BeamTree` with the cell of Ordered Memory.

    A sentence's tree is the most probable one of its beam. The paper's cell is the same but for
    GELU as its hidden function.

    Args:
        embedding: words to vectors.
        hidden_size: D, size of the nodes' vectors, and of the perceptron.
        labels: number of labels.
        beam: trees that are kept.
        dropout: of the embeddings, of the perceptron's inputs, and inside of the cell.
        sides: sentences per instance, 1 or 2.
        noise, one_soft: of :class:`.BeamTree`.

    Raises:
        ValueError: ``sides`` not 1 or 2, or as for :class:`.BeamTree`.
    """

    tree_kind = CONSTITUENTS

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_size: int,
        labels: int,
        beam: int = 5,
        dropout: float = 0.2,
        sides: int = 2,
        noise: float = 1.0,
        one_soft: bool = False,
    ):
        super().__init__(sides)
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        cell = TreeCell(embedding.embedding_dim, hidden_size, dropout)
        self.trees = BeamTree(cell, beam, noise, one_soft)
        self.output = perceptron(hidden_size, hidden_size, labels, sides, dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, MergedTrees]:
        """See :meth:`.VectorClassifier.encode`."""
        found = self.trees(self.dropout(self.embedding(tokens)), lengths)
        return found.vectors, MergedTrees(found.merges, lengths, found.scores.detach())
