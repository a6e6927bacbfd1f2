"""Words in context, by a bidirectional LSTM that never sees padding."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class SentenceEncoder(nn.Module):
    """Vectors of words from a bidirectional LSTM over their embeddings.

    Sentences are packed, so that neither their batch nor their padding changes a value.

    Args:
        embedding: words to vectors.
        hidden_size: size of the vectors, both directions together; an even number.
        layers: LSTM layers.
        dropout: of the embeddings and between layers.

    Raises:
        ValueError: ``hidden_size`` is odd.
    """

    def __init__(
        self, embedding: nn.Embedding, hidden_size: int, layers: int = 1, dropout: float = 0.0
    ):
        super().__init__()
        if hidden_size % 2:
            raise ValueError(f"the hidden size has two directions and must be even: {hidden_size}")
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            embedding.embedding_dim, hidden_size // 2, layers, batch_first=True,
            dropout=dropout if layers > 1 else 0.0, bidirectional=True,
        )  # fmt: skip

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(batch, n, hidden_size), 0 beyond a sentence's end.

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.
        """
        embedded = self.dropout(self.embedding(tokens))
        packed = pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        output, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=tokens.size(1)
        )
        return output


def within(lengths: Tensor, size: int) -> Tensor:
    """Which words are inside of their sentence, (batch, size) booleans."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]
