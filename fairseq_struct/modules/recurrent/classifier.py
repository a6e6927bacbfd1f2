"""Classifiers that encode each sentence as the last state of a recurrent network."""

from torch import Tensor, nn

from fairseq_struct.modules.classification import VectorClassifier, perceptron
from fairseq_struct.modules.recurrent.layers import recurrent_layers


class RecurrentClassifier(VectorClassifier):
    """Classifier for the relation of two sentences (ON-LSTM paper, section 5.4), or for one.

    A sentence's vector is the last state of the last layer.

    Args:
        embedding: words to vectors.
        hidden_sizes: sizes of the recurrent layers; the perceptron has the last one.
        labels: number of labels.
        cell: one of ``recurrent.layers.CELLS``.
        chunk_size: C of ON-LSTM.
        dropout: of the embeddings, between all layers, and of the perceptron's inputs.
        sides: sentences per instance, 1 or 2.

    Raises:
        ValueError: an unknown cell, ``sides`` not 1 or 2, or a size out of range.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden_sizes: tuple[int, ...],
        labels: int,
        cell: str = "on_lstm",
        chunk_size: int = 10,
        dropout: float = 0.2,
        sides: int = 2,
    ):
        super().__init__(sides)
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        self.layers = recurrent_layers(
            cell, embedding.embedding_dim, hidden_sizes, chunk_size, between=nn.Dropout(dropout)
        )
        size = hidden_sizes[-1]
        self.output = perceptron(size, size, labels, sides, dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """See :meth:`.VectorClassifier.encode`."""
        words = self.dropout(self.embedding(tokens)).transpose(0, 1)
        hidden, _ = self.layers.run(words, lengths=lengths).state
        return hidden[-1], None
