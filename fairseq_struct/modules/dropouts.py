"""Dropout as in AWD-LSTM, of weights, whole words and steps; and words read as unknown."""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from fairseq_struct.modules.workers import own_generator


def unit_dropout(p: float) -> nn.Dropout:
    """Dropout of single units with probability ``p``.

    Raises:
        ValueError: ``p`` is not from 0 to 1. (torch takes NaN for a probability.)
    """
    if not 0 <= p <= 1:
        raise ValueError(f"a dropout probability must be from 0 to 1, not {p}")
    return nn.Dropout(p)


class _Dropout(nn.Module):
    """Base of modules that drop with probability ``p`` in training.

    Raises:
        ValueError: ``p`` is not at least 0 and less than 1.
    """

    def __init__(self, p: float):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"a dropout probability must be 0 or more and below 1, not {p}")
        self.p = p

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"


class DropConnect(_Dropout):
    """Drop single weights, w -> w * m / (1 - p) with m ~ Bernoulli(1 - p) (Wan et al., 2013).

    AWD-LSTM drops recurrent weights, with one mask for all steps of a window (Merity et al., 2018).
    """

    def forward(self, weight: Tensor) -> Tensor:
        """Shaped as ``weight``, of any shape."""
        return dropout(weight, self.p, self.training)


class LockedDropout(_Dropout):
    """Drop units of a sequence with one mask for all of its steps (Gal, Ghahramani, 2016)."""

    def forward(self, states: Tensor) -> Tensor:
        """Shaped as ``states``, (steps, batch, size)."""
        if not self.training or self.p == 0:
            return states
        return states * dropout(torch.ones_like(states[:1]), self.p, True)


class WordDropout(_Dropout):
    """Look up embeddings, and drop whole words of the vocabulary (Gal, Ghahramani, 2016).

    A dropped word is 0 wherever it occurs in the batch.
    """

    def forward(self, tokens: Tensor, table: nn.Embedding) -> Tensor:
        """(..., size) vectors of tokens (...)."""
        weight = table.weight
        if self.training and self.p > 0:
            weight = weight * dropout(torch.ones_like(weight[:, :1]), self.p, True)
        return embedding(tokens, weight, table.padding_idx)


class UnknownWords(_Dropout):
    """Read words as unknown, each with probability ``p``, so that unknown words are learned.

    Args:
        p: the probability.
        unknown: index of the unknown word.
    """

    def __init__(self, p: float, unknown: int):
        super().__init__(p)
        self.unknown = unknown

    def forward(self, tokens: Tensor) -> Tensor:
        """Shaped as ``tokens``, integers of any shape."""
        if not self.training or self.p == 0:
            return tokens
        generator = own_generator(tokens.device)
        drawn = torch.rand(tokens.shape, generator=generator, device=tokens.device)
        return tokens.masked_fill(drawn < self.p, self.unknown)
