"""The symbols of a sentence while it is composed, and what a composer says of them in a step.

A symbol is a word, a part of speech or a phrase. It stands at the place of its first word, so that
nothing moves when a new symbol takes the place of a span: the other places of the span become
empty. A place that holds a symbol is live.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Symbols:
    """The current sequences of a batch of sentences; subclasses hold what a composer knows of them.

    Args:
        live: (batch, n) true where a symbol stands.
    """

    live: Tensor

    def rows(self, index: Tensor):
        """The sentences at ``index`` (m,), also several times."""
        return _rows_of(self, index)


def _rows_of(whole: Any, index: Tensor) -> Any:
    own = {field.name: _rows(getattr(whole, field.name), index) for field in fields(whole)}
    return replace(whole, **own)


def _rows(value: Any, index: Tensor) -> Any:
    if isinstance(value, Tensor):
        return value[index]
    if isinstance(value, tuple):
        parts = (_rows(one, index) for one in value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@dataclass(frozen=True)
class Composed:
    """What a composer says of the current sequences, and the symbols that it would make.

    Args:
        log_inside: (batch, n) logarithm of the combined attention, the probability that a symbol is
            in the span to be composed; in float32 or float64, meaningless where no symbol is live.
        log_outside: (batch, n) logarithm of one minus it.
        read: (batch, n) places that are read: those of symbols, and of padding that is not masked.
        symbols: (batch, size) vector of the new symbol.
        shares: (batch, units) w_k, 0 for units that are not active; None without units.
        after: what replaces the state of the composer if the sentence goes on.
    """

    log_inside: Tensor
    log_outside: Tensor
    read: Tensor
    symbols: Tensor
    shares: Tensor | None
    after: Any

    @property
    def attention(self) -> Tensor:
        """(batch, n) combined attention."""
        return self.log_inside.exp()

    def rows(self, index: Tensor) -> Composed:
        """What is said of the sentences at ``index`` (m,), also several times."""
        return _rows_of(self, index)


class Composer(nn.Module, ABC):
    """A network that composes sentences symbol by symbol.

    Attributes:
        size: of word vectors and symbols.
        categories: linear map from symbols to scores of categories, or None.
    """

    size: int
    categories: nn.Linear | None

    @abstractmethod
    def begin(self, tokens: Tensor, lengths: Tensor) -> Symbols:
        """The sentences as they are read, every word a symbol.

        Args:
            tokens: (batch, n) words.
            lengths: (batch,) words of each sentence, at least 1.
        """

    @abstractmethod
    def step(self, state: Symbols) -> Composed:
        """Look at the current sequences."""

    @abstractmethod
    def replace(
        self, state: Symbols, composed: Composed, span: Tensor, going: Tensor,
        in_place: bool = False,
    ) -> Symbols:  # fmt: skip
        """Put the new symbols in the place of spans.

        Args:
            state: that was looked at.
            composed: what was found.
            span: (batch, n) live places, those of contiguous symbols, at least one.
            going: (batch,) sentences that are composed further; the others stay as they are.
            in_place: ``state`` is not used again and may be changed; not where gradients are kept.
        """


def first_of(span: Tensor) -> Tensor:
    """(batch, n) true at the first place of a span (batch, n)."""
    return span & (span.cumsum(1) == 1)


def live_after(live: Tensor, span: Tensor, going: Tensor) -> Tensor:
    """(batch, n) live places once a symbol has taken the place of a span."""
    return live & ~(span & ~first_of(span) & going[:, None])


def gold_span(live: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """(batch, n) the live places of spans of words.

    Args:
        live: (batch, n).
        start, end: (batch,) words, the end excluded.
    """
    place = torch.arange(live.size(1), device=live.device)
    return live & (place >= start[:, None]) & (place < end[:, None])
