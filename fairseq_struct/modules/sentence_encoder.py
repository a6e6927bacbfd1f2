"""Words in context, by a bidirectional LSTM that never sees padding."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class ContextLSTM(nn.Module):
    """A bidirectional LSTM over sentences.

    Sentences are packed, so that neither their batch nor their padding changes a value.

    Args:
        input_size: size of the words' vectors.
        hidden_size: size of the results, both directions together; an even number.
        layers: LSTM layers.
        dropout: between layers.

    Raises:
        ValueError: ``hidden_size`` is odd.
    """

    def __init__(self, input_size: int, hidden_size: int, layers: int = 1, dropout: float = 0.0):
        super().__init__()
        if hidden_size % 2:
            raise ValueError(f"the hidden size has two directions and must be even: {hidden_size}")
        self.size = hidden_size
        self.lstm = nn.LSTM(
            input_size, hidden_size // 2, layers, batch_first=True,
            dropout=dropout if layers > 1 else 0.0, bidirectional=True,
        )  # fmt: skip

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(batch, n, hidden_size), 0 beyond a sentence's end.

        Args:
            words: (batch, n, input_size).
            lengths: (batch,) words per sentence, at least 1.
        """
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=words.size(1)
        )
        return output


class SentenceEncoder(nn.Module):
    """Vectors of words from a :class:`ContextLSTM` over their embeddings.

    Args:
        embedding: words to vectors.
        hidden_size, layers: of the LSTM.
        dropout: of the embeddings and between layers.

    Raises:
        ValueError: ``hidden_size`` is odd.
    """

    def __init__(
        self, embedding: nn.Embedding, hidden_size: int, layers: int = 1, dropout: float = 0.0
    ):
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.context = ContextLSTM(embedding.embedding_dim, hidden_size, layers, dropout)
        self.size = hidden_size

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(batch, n, hidden_size), 0 beyond a sentence's end.

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.
        """
        return self.context(self.dropout(self.embedding(tokens)), lengths)


def within(lengths: Tensor, size: int) -> Tensor:
    """Which words are inside of their sentence, (batch, size) booleans."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]
