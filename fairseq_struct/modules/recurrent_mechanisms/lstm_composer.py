"""An LSTM that composes sentences, to compare recurrent independent mechanisms with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from fairseq_struct.modules.masks import within
from fairseq_struct.modules.recurrent_mechanisms.symbols import (
    Composed,
    Composer,
    Symbols,
    first_of,
    live_after,
)
from fairseq_struct.structure.precision import at_least_float32


@dataclass(frozen=True)
class LstmSymbols(Symbols):
    """The current sequences.

    Args:
        vectors: (batch, n, size) of the symbols.
    """

    vectors: Tensor


class LstmComposer(Composer):
    """A bidirectional LSTM reads the current sequence anew in every step (not in the thesis).

    Its states o_i score the symbols: p_i = sigmoid(w o_i + b) is the probability that symbol i is
    in the span, and the new symbol is the mean of o_i weighted by p_i. Unlike units, it knows the
    order of the symbols, and keeps nothing from step to step but the symbols.

    Args:
        words: embeddings of the words; both directions of the LSTM together have their size.
        layers: of the LSTM.
        categories: number of categories to predict; 0 for none.
        dropout: of words, new symbols, and between layers.

    Raises:
        ValueError: an odd size.
    """

    def __init__(
        self, words: nn.Embedding, layers: int = 1, categories: int = 0, dropout: float = 0.0
    ):
        super().__init__()
        size = self.size = words.embedding_dim
        if size % 2:
            raise ValueError(f"the size of embeddings must be even for two directions, not {size}")
        self.words, self.dropout = words, nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            size, size // 2, layers, batch_first=True, bidirectional=True,
            dropout=dropout if layers > 1 else 0.0,
        )  # fmt: skip
        self.score = nn.Linear(size, 1)
        self.categories = nn.Linear(size, categories) if categories else None

    def begin(self, tokens: Tensor, lengths: Tensor) -> LstmSymbols:
        """See :meth:`Composer.begin`."""
        live = within(lengths, tokens.size(1))
        return LstmSymbols(live, self.dropout(self.words(tokens)))

    def step(self, state: LstmSymbols) -> Composed:
        """See :meth:`Composer.step`."""
        counts = state.live.sum(1)
        # The symbols side by side, and back to their places.
        order = state.live.int().argsort(dim=1, descending=True, stable=True)
        order = order[:, : int(counts.max())]
        sides = order[..., None].expand(-1, -1, self.size)
        packed = nn.utils.rnn.pack_padded_sequence(
            state.vectors.gather(1, sides), counts.cpu(), batch_first=True, enforce_sorted=False
        )
        read, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=order.size(1)
        )
        outputs = torch.zeros_like(state.vectors, dtype=read.dtype).scatter(1, sides, read)
        scores = at_least_float32(self.score(outputs)[..., 0])
        inside = scores.sigmoid().masked_fill(~state.live, 0.0)
        weights = (inside / inside.sum(1, keepdim=True)).to(outputs.dtype)
        symbols = torch.bmm(weights[:, None], outputs)[:, 0]
        return Composed(logsigmoid(scores), logsigmoid(-scores), state.live, symbols, None, None)

    def replace(
        self, state: LstmSymbols, composed: Composed, span: Tensor, going: Tensor,
        in_place: bool = False,
    ) -> LstmSymbols:  # fmt: skip
        """See :meth:`Composer.replace`."""
        first = (first_of(span) & going[:, None])[..., None]
        symbols = self.dropout(composed.symbols)[:, None].to(state.vectors.dtype)
        return replace(
            state, live=live_after(state.live, span, going),
            vectors=torch.where(first, symbols, state.vectors),
        )  # fmt: skip
