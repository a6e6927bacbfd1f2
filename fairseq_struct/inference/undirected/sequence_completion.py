"""Trained networks that complete sequences with hidden symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import padded
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import BATCH_WORDS, LONGEST, Words, by_length, words_of
from fairseq_struct.inference.undirected.passes import set_test_passes

HIDDEN = "_"


@dataclass(frozen=True)
class Completed:
    """A completed sequence.

    Attributes:
        symbols: the sequence, with the most likely symbols in place of hidden ones.
        probabilities: of each of these, by its place, from 0.
    """

    symbols: tuple[str, ...]
    probabilities: dict[int, float]


@dataclass(frozen=True)
class AttentionSteps:
    """What the attention weights of a network are while it completes a sequence.

    Attributes:
        symbols: the sequence, as it was given.
        weights: for each pass, the values (n, n) of S; row i attends to column j.
    """

    symbols: tuple[str, ...]
    weights: tuple[tuple[Tensor, ...], ...]


class SequenceCompleter:
    """A trained network with ``completes``.

    Args:
        model: the network.
        symbols: its symbols, in the order of their numbers.
        test_passes: passes of updates, or ``converge``; None: as the model says.
        longest: most symbols of a sequence.
        batch_words: most symbols of a batch, padding included.

    Raises:
        InputError: passes that are neither, or the model has no such choice.
    """

    def __init__(
        self, model, symbols: Iterable[str], test_passes: str | int | None = None,
        longest: int = LONGEST, batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        if test_passes is not None:
            set_test_passes(getattr(model, "network", None), test_passes)
        self.model, self.symbols = model.eval(), tuple(symbols)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        read = partial(self._read, longest)
        self._by_length = partial(by_length, read=read, batch_words=batch_words)

    def complete(self, sequences: Iterable[str]) -> list[Completed]:
        """Fill in the hidden symbols of sequences; see :meth:`completed`."""
        return list(self.completed(sequences))

    def completed(self, sequences: Iterable[str]) -> Iterator[Completed]:
        """Yield completed sequences, in order.

        Args:
            sequences: symbols with spaces between them, ``_`` for each hidden one.

        Raises:
            InputError: an unknown symbol, or a sequence with no hidden or no other symbol.
        """
        return self._by_length(sequences, self._fill)

    def attentions(self, sequences: Iterable[str]) -> Iterator[AttentionSteps]:
        """Yield the attention weights for each sequence; arguments and errors as there."""
        return self._by_length(sequences, self._attend)

    @in_evaluation
    def _fill(self, batch: list[Words]) -> Iterator[Completed]:
        tokens, lengths, places = self._batch(batch)
        best = self.model(tokens, lengths, places).logits.float().softmax(-1).max(-1)
        for row, words in enumerate(batch):
            filled, chances = list(words), {}
            for column, place in enumerate(_hidden(words)):
                filled[place] = self.symbols[int(best.indices[row, column])]
                chances[place] = float(best.values[row, column])
            yield Completed(tuple(filled), chances)

    @in_evaluation
    def _attend(self, batch: list[Words]) -> Iterator[AttentionSteps]:
        for words in batch:
            tokens, _, places = self._batch([words])
            passes = self.model.attentions(tokens, places)
            yield AttentionSteps(
                words, tuple(tuple(one.float().cpu() for one in steps) for steps in passes)
            )

    def _batch(self, batch: list[Words]) -> tuple[Tensor, Tensor, Tensor]:
        """Symbols (batch, n), lengths (batch,) and hidden places (batch, m)."""
        rows = [torch.tensor([self._numbers.get(word, 0) for word in words]) for words in batch]
        hidden = [torch.tensor(_hidden(words)) for words in batch]
        found = padded(rows, 0), torch.tensor(list(map(len, batch))), padded(hidden, -1)
        device = next(self.model.parameters()).device
        return tuple(part.to(device) for part in found)

    def _read(self, longest: int, number: int, sequence: str) -> Words:
        words = words_of(number, sequence, longest)
        for word in words:
            if word != HIDDEN and word not in self._numbers:
                known = self.symbols if len(self.symbols) < 10 else (*self.symbols[:3], "…")
                raise InputError(f"line {number}: {unknown_name('symbol', word, known)}")
        hidden = _hidden(words)
        if not hidden or len(hidden) == len(words):
            which = "no" if not hidden else "every"
            raise InputError(f"line {number}: {which} symbol is hidden; {HIDDEN} hides one")
        return words


def _hidden(words: Words) -> list[int]:
    return [place for place, word in enumerate(words) if word == HIDDEN]
