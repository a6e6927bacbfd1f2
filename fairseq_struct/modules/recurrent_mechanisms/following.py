"""Composition along gold steps, which training and teacher-forced scores do.

The loss of a step is the mean, over the symbols of the current sequence, of the binary
cross-entropy of combined attention and gold span (Loss^t of section 3.2.3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fairseq_struct.modules.recurrent_mechanisms.free_spans import (
    best_span,
    is_finished,
    log_odds,
    untagged_after,
)
from fairseq_struct.modules.recurrent_mechanisms.given_steps import check_steps
from fairseq_struct.modules.recurrent_mechanisms.next_step import GoldSteps
from fairseq_struct.modules.recurrent_mechanisms.symbols import Composed, Composer, gold_span
from fairseq_struct.modules.workers import own_generator
from fairseq_struct.structure.precision import at_least_float32


@dataclass
class Followed:
    """What a composer did with a batch, step by step.

    Args:
        going: (batch, steps) false after the end of a sentence.
        losses: (batch, steps) of spans, 0 after the end.
        attention: (batch, steps, n) combined attention, without gradient.
        live: (batch, steps, n) places of symbols before the step.
        spans: (batch, steps, n) live places of the gold span.
        categories: (batch, steps) gold categories, -1 where there is none; None if none were given.
        shares: (batch, steps, units) w_k, without gradient; None without units.
        scores: (batch, steps, categories) scores of categories; None without them.
        symbols: (batch, size) the last symbol of each sentence.
    """

    going: Tensor
    losses: Tensor
    attention: Tensor
    live: Tensor
    spans: Tensor
    categories: Tensor | None
    shares: Tensor | None
    scores: Tensor | None
    symbols: Tensor

    def category_losses(self) -> Tensor | None:
        """(batch, steps) cross-entropies of known categories, 0 elsewhere; None without scores."""
        if self.scores is None or self.categories is None:
            return None
        losses = cross_entropy(
            at_least_float32(self.scores).transpose(1, 2),
            self.categories,
            ignore_index=-1,
            reduction="none",
        )
        return losses.masked_fill(~self.going, 0.0)


def step_losses(composed: Composed, span: Tensor) -> Tensor:
    """(batch,) mean binary cross-entropy over the places that are read.

    Args:
        composed: of the step.
        span: (batch, n) of the gold span.
    """
    losses = -torch.where(span, composed.log_inside, composed.log_outside)
    return losses.masked_fill(~composed.read, 0.0).sum(1) / composed.read.sum(1)


def follow(
    composer: Composer, tokens: Tensor, lengths: Tensor, starts: Tensor, ends: Tensor,
    step_counts: Tensor, categories: Tensor | None = None, own_share: float = 0.0,
) -> Followed:  # fmt: skip
    """Compose sentences along gold steps.

    With ``own_share``, the symbol replaces in this share of the steps, drawn by torch's generator,
    the best allowed span of :mod:`.free_spans` instead of the gold one. The gold step is then the
    next one that can still be done (:class:`GoldSteps`), and phrases of one child are left out.

    Args:
        composer: the network.
        tokens: (batch, n), padded.
        lengths: (batch,).
        starts, ends: (batch, steps) gold spans over words, the end excluded.
        step_counts: (batch,) steps of each sentence.
        categories: (batch, steps) gold categories, -1 where there is none.
        own_share: probability of going on from the composer's own span.

    Raises:
        ValueError: lengths, numbers of steps or spans do not fit: see :func:`.check_steps`.
    """
    check_steps(tokens, lengths, starts, ends, step_counts)
    state = composer.begin(tokens, lengths)
    gold = GoldSteps(starts, ends, step_counts, lengths, tokens.size(1)) if own_share else None
    untagged, going, found = lengths, step_counts > 0, []
    symbols = None
    while going.any():
        place = torch.full_like(lengths, len(found))
        if gold is not None:
            place = gold.next(state.live, untagged)
        place = place.clamp(max=starts.size(1) - 1)[:, None]
        span = gold_span(state.live, starts.gather(1, place)[:, 0], ends.gather(1, place)[:, 0])
        composed = composer.step(state)
        symbols = composed.symbols if symbols is None else _where(going, composed.symbols, symbols)
        found.append((
            going, step_losses(composed, span).masked_fill(~going, 0.0),
            composed.attention.detach(), state.live, span & going[:, None],
            None if categories is None else categories.gather(1, place)[:, 0].where(going, -1),
            None if composed.shares is None else composed.shares.detach(),
            None if composer.categories is None else composer.categories(composed.symbols),
        ))  # fmt: skip
        taken = span
        if gold is not None:
            own = best_span(log_odds(composed, state.live), state.live, untagged)
            coins = torch.rand(len(own), device=own.device, generator=own_generator(own.device))
            taken = _where(coins < own_share, own, span)
            untagged = untagged_after(untagged, taken, going)
        in_place = not torch.is_grad_enabled()
        state = composer.replace(state, composed, taken, going, in_place)
        if gold is None:
            going = step_counts > len(found)
        else:
            going = going & ~is_finished(state.live, untagged)
    columns = zip(*found, strict=True)
    stacked = [None if one[0] is None else torch.stack(one, 1) for one in columns]
    return Followed(*stacked, symbols)


def _where(chosen: Tensor, ours: Tensor, theirs: Tensor) -> Tensor:
    return torch.where(chosen[:, None], ours, theirs)
