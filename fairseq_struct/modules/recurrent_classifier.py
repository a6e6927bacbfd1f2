"""Classifiers that read each sentence into the last state of a recurrent network."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.latent_tree.classifier import Classification, label_losses
from fairseq_struct.modules.lstm_layers import LSTMLayers
from fairseq_struct.modules.on_lstm import ONLSTM

CELLS = ("on_lstm", "lstm")


class RecurrentClassifier(nn.Module):
    """The relation of two sentences, or the label of one (ON-LSTM paper, section 5.4).

    With h_1 and h_2 the last states of the two sentences, a multi-layer perceptron with one hidden
    layer reads (h_1, h_2, h_1 * h_2, |h_1 - h_2|); of a single sentence it reads h_1.

    Args:
        embedding: words to vectors.
        hidden_sizes: of the recurrent layers; that of the last one is the perceptron's, too.
        labels: number of labels.
        cell: ``on_lstm`` or ``lstm``.
        chunk_size: C of ON-LSTM.
        dropout: of the embeddings, between all layers, and of what the perceptron reads.
        sides: sentences per instance, 1 or 2.

    Raises:
        ValueError: an unknown cell, another number of sides, or a size out of range.
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
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"unknown cell {cell!r}; choose one of {', '.join(CELLS)}")
        if sides not in (1, 2):
            raise ValueError(f"a classifier reads one sentence or two, not {sides}")
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        if cell == "on_lstm":
            self.layers = ONLSTM(
                embedding.embedding_dim, hidden_sizes, chunk_size=chunk_size, dropout=dropout
            )
        else:
            self.layers = LSTMLayers(
                embedding.embedding_dim, hidden_sizes, between=nn.Dropout(dropout)
            )
        size = hidden_sizes[-1]
        self.output = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(size * (4 if sides == 2 else 1), size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(size, labels),
        )

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        heads: Tensor | None = None,
    ) -> Classification:
        """Logits, and losses where there are targets.

        Args:
            tokens: (batch, sides, n).
            lengths: (batch, sides) words of each sentence.
            targets: (batch,) labels.
            heads: of no use here.
        """
        batch, sides, _ = tokens.shape
        words = self.dropout(self.embedding(tokens.flatten(0, 1))).transpose(0, 1)
        hidden, _ = self.layers.run(words, lengths=lengths.flatten()).state
        last = hidden[-1].view(batch, sides, -1)
        features = last[:, 0]
        if sides == 2:
            first, second = last.unbind(1)
            features = torch.cat([first, second, first * second, (first - second).abs()], 1)
        logits = self.output(features)
        return Classification(logits.detach(), label_losses(logits, targets), None, lengths)
