"""Vectors of words in context, by a bidirectional LSTM that ignores padding."""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_struct.modules.masks import check_lengths_of
from fairseq_struct.modules.recurrent.torch_lstm import lstm


class ContextLSTM(nn.Module):
    """A bidirectional LSTM over sentences.

    Neither the batch nor its padding changes a value. On a GPU, sentences are packed. On the CPU,
    oneDNN's layers are faster but take no packed sentences: there the second direction reads each
    sentence reversed within its own length.

    Args:
        input_size: size of the words' vectors.
        hidden_size: size of the results, both directions together; an even number.
        layers: LSTM layers.
        dropout: dropout between layers.

    Raises:
        ValueError: ``hidden_size`` is odd.
    """

    def __init__(self, input_size: int, hidden_size: int, layers: int = 1, dropout: float = 0.0):
        super().__init__()
        if hidden_size % 2:
            raise ValueError(f"the hidden size must be even (two directions), not {hidden_size}")
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

        Raises:
            ValueError: a length out of range.
        """
        check_lengths_of(words, lengths)
        if words.device.type == "cpu":
            return self._padded(words, lengths)
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=words.size(1)
        )
        return output

    def _padded(self, words: Tensor, lengths: Tensor) -> Tensor:
        n = words.size(1)
        places, lengths = torch.arange(n, device=words.device), lengths[:, None]
        inside = places < lengths
        # Index of the word at each place of the reversed sentence; padding stays at the end.
        reverse = torch.where(inside, lengths - 1 - places, places)[..., None]
        # Gradients of the weights would read what is beyond a sentence's end.
        states = words.masked_fill(~inside[..., None], 0.0)
        for layer in range(self.lstm.num_layers):
            if layer:
                states = dropout(states, self.lstm.dropout, self.training)
            backwards = states.gather(1, reverse.expand(-1, -1, states.size(-1)))
            forth = self._direction(states, f"l{layer}")
            back = self._direction(backwards, f"l{layer}_reverse")
            back = back.gather(1, reverse.expand(-1, -1, back.size(-1)))
            states = torch.cat([forth, back], -1)
        return states.masked_fill(~inside[..., None], 0.0)

    def _direction(self, words: Tensor, name: str) -> Tensor:
        """States of one direction of one layer, from left to right."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(self.lstm, f"{kind}_{name}") for kind in kinds]
        start = words.new_zeros(1, words.size(0), self.lstm.hidden_size)
        return lstm(words, (start, start), weights, torch.is_grad_enabled(), batch_first=True)[0]


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
