"""Composition of sentences by layers of recurrent independent mechanisms (section 3.2.3.2).

Units read the symbols of the current sequence. In each step,

    attn_combined = sum_k w_k attn_k,     w = softmax over active units of 1 - attn_k(null)
    symbol        = sum_k w_k h_k

are the span to be composed and the vector of the new symbol, which takes the span's place. The
states of the units start at zero and are carried over all steps of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, logsigmoid

from fairseq_struct.modules.masks import within
from fairseq_struct.modules.recurrent_mechanisms.layer import (
    Reading,
    RecurrentMechanisms,
    UnitStates,
)
from fairseq_struct.modules.recurrent_mechanisms.symbols import (
    Composed,
    Composer,
    Symbols,
    live_after,
)
from fairseq_struct.modules.transformer_parts import sinusoids_in_float32
from fairseq_struct.structure.precision import at_least_float32

SPAN_ATTENTION = ("sigmoid", "softmax")
POSITIONS = ("none", "from_right")


@dataclass(frozen=True)
class RimSymbols(Symbols):
    """The current sequences, as the layers read them.

    Args:
        projected: of each layer, (batch, n, key and value size), keys and values of the symbols.
        states: of each layer.
    """

    projected: tuple[Tensor, ...]
    states: tuple[UnitStates, ...]


class RimComposer(Composer):
    """A composer of one or more layers of units.

    The thesis stacks two layers, but does not say what the second one reads, and whose attention is
    the span. Here, the first layer reads the symbols x_i, and every other one x_i + sum_k w_k
    attn_k,i h_k, where the layer right below has added what its units say of them. So every layer
    attends to symbols, and the span and the new symbol are those of the last one.

    Args:
        words: embeddings of the words; their size is that of the units' states, because symbols
            take the places of words.
        units, top_k, key_size, input_weights: of every layer: see :class:`RecurrentMechanisms`.
        layers: number of layers.
        span_attention: what attn_k is in the span: ``sigmoid`` of a_k, as the thesis's heading has
            it ("sigmoid attention for span selection"); or its ``softmax`` with the null vector, as
            its equations read, which can give each of m words no more than 1 / m.
        positions: ``none`` (the thesis): units read a set, and cannot know which of two like words
            comes first; or ``from_right``: sinusoids of the places counted from the right end of
            the current sequence are added to the symbols.
        pad_value: pads sequences with vectors of this number, as the thesis does (-1), so that all
            in a batch have the same length. The units read them, so that results depend on the
            batch. None (the default): masks.
        categories: number of categories to predict; 0 for none.
        dropout: of words and new symbols.

    Raises:
        ValueError: no layer, an unknown name, or impossible sizes.
    """

    def __init__(
        self, words: nn.Embedding, units: int = 5, top_k: int = 3, layers: int = 1,
        key_size: int = 64, input_weights: str = "sigmoid", span_attention: str = "sigmoid",
        positions: str = "none", pad_value: float | None = None, categories: int = 0,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        if layers < 1:
            raise ValueError(f"there must be 1 layer or more, not {layers}")
        for what, value, known in (("span attention", span_attention, SPAN_ATTENTION),
                                   ("positions", positions, POSITIONS)):  # fmt: skip
            if value not in known:
                raise ValueError(f"{what} must be {' or '.join(known)}, not {value!r}")
        size = self.size = words.embedding_dim
        self.words, self.dropout = words, nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            RecurrentMechanisms(units, top_k, size, size, key_size, input_weights)
            for _ in range(layers)
        )
        self.span_attention, self.positions, self.pad_value = span_attention, positions, pad_value
        self.categories = nn.Linear(size, categories) if categories else None

    def begin(self, tokens: Tensor, lengths: Tensor) -> RimSymbols:
        """See :meth:`Composer.begin`."""
        live = within(lengths, tokens.size(1))
        vectors = self.dropout(self.words(tokens))
        projected = tuple(layer.read(vectors) for layer in self.layers)
        states = tuple(layer.begin(len(tokens)) for layer in self.layers)
        return RimSymbols(live, projected, states)

    def step(self, state: RimSymbols) -> Composed:
        """See :meth:`Composer.step`."""
        live, read = self._padded(state)
        places = self._places(state.live)
        states, written, heard = [], None, None
        for layer, projected, before in zip(self.layers, read, state.states, strict=True):
            if places is not None:
                projected = projected + embedding(places, layer.read(self._sinusoids(projected)))
            if written is not None:
                projected = projected + torch.bmm(written, layer.read(heard))
            reading = layer.step(projected, live, before)
            states.append(reading.states)
            log_shares, heard = reading.log_shares, reading.states.hidden
            inside, outside = self._span_logarithms(reading, live)
            log_inside = (log_shares[..., None] + inside).logsumexp(1)
            shares = log_shares.exp()
            if len(states) < len(self.layers):
                written = (shares[..., None] * inside.exp()).transpose(1, 2).to(heard.dtype)
        log_outside = (log_shares[..., None] + outside).logsumexp(1)
        symbols = torch.bmm(shares[:, None].to(heard.dtype), heard)[:, 0]
        return Composed(log_inside, log_outside, live, symbols, shares, tuple(states))

    def replace(
        self, state: RimSymbols, composed: Composed, span: Tensor, going: Tensor,
        in_place: bool = False,
    ) -> RimSymbols:  # fmt: skip
        """See :meth:`Composer.replace`."""
        # Only one place of a sentence changes, that of the span's first symbol.
        places = torch.arange(len(span), device=span.device), span.int().argmax(1)
        symbols = self.dropout(composed.symbols)
        projected = tuple(
            _with_rows(before, layer.read(symbols), places, going, in_place)
            for layer, before in zip(self.layers, state.projected, strict=True)
        )
        states = zip(composed.after, state.states, strict=True)
        return replace(
            state, live=live_after(state.live, span, going), projected=projected,
            states=tuple(new.where(going, before) for new, before in states),
        )  # fmt: skip

    def _span_logarithms(self, reading: Reading, read: Tensor) -> tuple[Tensor, Tensor]:
        """Logarithms of attn_k and of 1 - attn_k, (batch, units, n), finite everywhere."""
        empty = ~read[:, None]
        if self.span_attention == "sigmoid":
            scores = at_least_float32(reading.scores).masked_fill(empty, 0.0)
            return logsigmoid(scores), logsigmoid(-scores)
        # Below 1, so that a symbol that has all the attention leaves a finite loss for others.
        inside = reading.log_attention.masked_fill(empty, -1.0).clamp(max=-1e-6)
        return inside, torch.log(-torch.expm1(inside))

    def _padded(self, state: RimSymbols) -> tuple[Tensor, tuple[Tensor, ...]]:
        """What the layers read: places and their projections."""
        if self.pad_value is None:
            return state.live, state.projected
        padding = torch.full_like(self.words.weight[0], self.pad_value)
        rows = zip(self.layers, state.projected, strict=True)
        read = (torch.where(state.live[..., None], own, layer.read(padding)) for layer, own in rows)
        return torch.ones_like(state.live), tuple(read)

    def _places(self, live: Tensor) -> Tensor | None:
        if self.positions != "from_right":
            return None
        return live.sum(1, keepdim=True) - live.cumsum(1)

    def _sinusoids(self, like: Tensor) -> Tensor:
        return sinusoids_in_float32(like.size(1), self.size, like.device).to(like.dtype)


def _with_rows(
    before: Tensor, new: Tensor, places: tuple[Tensor, Tensor], going: Tensor, in_place: bool
) -> Tensor:
    """``before`` (batch, n, size) with ``new`` (batch, size) at a place of each row that goes on.

    A copy takes a third of the time of torch.where.
    """
    new = torch.where(going[:, None], new, before[places])
    return before.index_put_(places, new) if in_place else before.index_put(places, new)
