"""The spans that a composer may take by itself, and the best of them.

Words are tagged from right to left, each by a step of its own; a phrase is made of two or more
symbols that are done, which stand to the right of all words not yet tagged. So the next step is to
tag the next word, or to compose any contiguous span of done symbols. The steps of every tree
without one-child phrases are of this kind, and however they are chosen, a sentence of n words ends
in one symbol after at most 2 n - 1 steps.

The score of a span is the sum of the log-odds of the combined attention on its symbols, log p
(1 - p)^-1. Up to a constant of the step, this is the logarithm of the probability that exactly its
symbols are in, if each is drawn by itself.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fairseq_struct.modules.recurrent_mechanisms.symbols import Composed


def log_odds(composed: Composed, live: Tensor) -> Tensor:
    """(batch, n) log-odds of the combined attention, float64, 0 where no symbol is live."""
    odds = composed.log_inside.double() - composed.log_outside.double()
    return odds.masked_fill(~live, 0.0)


def best_phrase(odds: Tensor, done: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The contiguous span of two or more symbols with the largest sum, in linear time.

    Of spans with equal sums, the one that ends first wins, and of those the one that starts first.

    Args:
        odds: (batch, n).
        done: (batch, n) places of symbols that may be composed.

    Returns:
        Sums (batch,), -inf where there are fewer than two such symbols; first and last place
        (batch,) of the spans.
    """
    odds = odds.masked_fill(~done, 0.0)
    upto = odds.cumsum(1)
    before = (odds - upto).masked_fill(~done, -math.inf)  # minus the sum of all places before it
    # Symbols that a span ending here may start with: all done ones before this place.
    gain = before[:, :-1].cummax(1).values
    sums = (upto[:, 1:] + gain).masked_fill(~done[:, 1:], -math.inf)
    if not sums.size(1):
        none = odds.new_full((len(odds),), -math.inf)
        return none, *done.new_zeros(2, len(odds), dtype=torch.long)
    best, end = sums.max(1)
    start = (before[:, :-1] == gain.gather(1, end[:, None])).int().argmax(1)
    return best, start, end + 1


def best_span(odds: Tensor, live: Tensor, untagged: Tensor) -> Tensor:
    """(batch, n) the allowed span with the largest sum; where it is equal, tagging comes first.

    Args:
        odds: (batch, n) log-odds.
        live: (batch, n) places of symbols.
        untagged: (batch,) words not yet tagged, the first ones of the sentence.
    """
    place = torch.arange(live.size(1), device=live.device)
    word = (untagged - 1).clamp(min=0)[:, None]
    best, start, end = best_phrase(odds, live & (place >= untagged[:, None]))
    tag = (untagged > 0) & (odds.gather(1, word)[:, 0] >= best)
    phrase = live & (place >= start[:, None]) & (place <= end[:, None])
    return torch.where(tag[:, None], place == word, phrase)


def untagged_after(untagged: Tensor, span: Tensor, going: Tensor) -> Tensor:
    """(batch,) words not yet tagged once a symbol has taken the place of a span (batch, n)."""
    first = span.int().argmax(1)
    return torch.where(going & (first < untagged), untagged - 1, untagged)


def is_finished(live: Tensor, untagged: Tensor) -> Tensor:
    """(batch,) whether one symbol is left, which is not a word."""
    return (live.sum(1) == 1) & (untagged == 0)
