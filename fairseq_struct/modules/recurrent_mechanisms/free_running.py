"""Composition of sentences by the spans that a composer takes itself, until one symbol is left.

In every state, the allowed steps of :mod:`.free_spans` have probabilities

    p(step) = softmax over allowed steps of the sum of log-odds of the attention on the step's span

and the log-probability of a sequence of steps is their sum. The sum over all spans, by which p is
divided, takes linear time like the best span. The thesis only follows gold steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_struct.errors import NotFiniteScores
from fairseq_struct.modules.recurrent_mechanisms.free_spans import (
    best_span,
    is_finished,
    log_odds,
    untagged_after,
)
from fairseq_struct.modules.recurrent_mechanisms.symbols import Composer
from fairseq_struct.structure.checks import refuse_fractions, sentence_lengths


@dataclass(frozen=True)
class Composition:
    """How the sentences of a batch were composed.

    Args:
        going: (batch, steps) false after the end of a sentence.
        starts, ends: (batch, steps) spans of words, the end excluded; 0 after the end.
        categories: (batch, steps) most likely category of each new symbol, -1 after the end; None
            if the composer has no categories.
        symbols: (batch, size) of the roots.
        log_probabilities: (batch,) of all steps of a sentence, float64.
        attention: (batch, steps, n) combined attention; like the next two None if not kept.
        live: (batch, steps, n) places of symbols before the step.
        shares: (batch, steps, units) w_k; None without units.
    """

    going: Tensor
    starts: Tensor
    ends: Tensor
    categories: Tensor | None
    symbols: Tensor
    log_probabilities: Tensor
    attention: Tensor | None = None
    live: Tensor | None = None
    shares: Tensor | None = None

    def spans(self) -> list[list[tuple[int, int]]]:
        """The spans of words of each sentence, in the order of its steps."""
        rows = zip(self.starts.tolist(), self.ends.tolist(), self.going.sum(1).tolist(),
                   strict=True)  # fmt: skip
        return [list(zip(starts, ends, strict=True))[:count] for starts, ends, count in rows]


class _Taken(NamedTuple):
    """The steps that are taken in all hypotheses.

    Args:
        parents: (rows,) hypotheses from which they go on.
        firsts, lasts: (rows,) first and last place of the spans.
        scores: (rows,) log-probabilities of all steps up to these.
    """

    parents: Tensor
    firsts: Tensor
    lasts: Tensor
    scores: Tensor


@torch.no_grad()
def compose_freely(
    composer: Composer, tokens: Tensor, lengths: Tensor, beam: int = 1, keep: bool = False,
    word_categories: Tensor | None = None,
) -> Composition:  # fmt: skip
    """Compose sentences by the composer's own spans.

    With ``beam`` 1 the best allowed step is taken each time (:func:`.best_span`). Otherwise the
    ``beam`` most likely sequences of steps are kept for each sentence, finished ones among them;
    the most likely one is returned. Among equally likely ones, tagging comes first, then the span
    that ends and starts first.

    Args:
        composer: the network.
        tokens: (batch, n), padded.
        lengths: (batch,) from 1 to n.
        beam: sequences that are kept.
        keep: also return attention, places and shares of every step.
        word_categories: (categories,) true for those that words can have, and phrases cannot; None
            if both can have all.

    Raises:
        ValueError: ``beam`` is below 1, there is no sentence, or a length is out of range.
        NotFiniteScores: the composer's scores are NaN.
    """
    refuse_fractions(beam=beam)
    if beam < 1:
        raise ValueError(f"beam must be 1 or more, not {beam}")
    if not len(tokens):
        raise ValueError("the batch is empty; it needs 1 sentence or more")
    lengths = sentence_lengths(lengths, tokens)
    state = composer.begin(tokens, lengths)
    scores = torch.zeros(len(tokens), dtype=torch.double, device=tokens.device)
    if beam > 1:
        rows = torch.arange(len(tokens), device=tokens.device).repeat_interleave(beam)
        state, lengths, scores = state.rows(rows), lengths[rows], scores[rows]
        scores.view(-1, beam)[:, 1:] = -math.inf
    untagged, going = lengths, scores > -math.inf
    symbols, trail = None, []
    while going.any():
        composed = composer.step(state)
        odds = log_odds(composed, state.live)
        if odds.isnan().any():
            raise NotFiniteScores("the composer's scores are NaN: its training has diverged")
        taken = _best_steps(odds, state.live, untagged, going, scores, beam)
        scores = taken.scores
        if beam > 1:
            state, composed = state.rows(taken.parents), composed.rows(taken.parents)
            untagged, going = untagged[taken.parents], going[taken.parents] & (scores > -math.inf)
            symbols = None if symbols is None else symbols[taken.parents]
        span = _span(state.live, taken.firsts, taken.lasts)
        trail.append((
            taken.parents, going, taken.firsts.where(going, 0),
            _end(state.live, taken.lasts, lengths).where(going, 0),
            None if composer.categories is None
            else _category(composer, composed.symbols, taken.firsts < untagged, word_categories)
            .where(going, -1),
            *((composed.attention, state.live, composed.shares) if keep else (None, None, None)),
        ))  # fmt: skip
        new = composed.symbols
        symbols = new if symbols is None else torch.where(going[:, None], new, symbols)
        state = composer.replace(state, composed, span, going)
        untagged = untagged_after(untagged, span, going)
        going = going & ~is_finished(state.live, untagged)
    return _best_composition(trail, symbols, scores, beam)


def _category(
    composer: Composer, symbols: Tensor, tagging: Tensor, word_categories: Tensor | None
) -> Tensor:
    """(rows,) the most likely category of new symbols, of words where ``tagging`` (rows,)."""
    scores = composer.categories(symbols)
    if word_categories is not None:
        foreign = word_categories.to(scores.device) != tagging[:, None]
        scores = scores.masked_fill(foreign, -math.inf)
    return scores.argmax(1)


def _best_steps(
    odds: Tensor, live: Tensor, untagged: Tensor, going: Tensor, scores: Tensor, beam: int
) -> _Taken:
    """The best step of each hypothesis, or the best ``beam`` of all hypotheses of a sentence.

    Args:
        odds: (rows, n) log-odds.
        live: (rows, n) places of symbols.
        untagged: (rows,) words not yet tagged.
        going: (rows,) hypotheses that are not finished.
        scores: (rows,) log-probabilities so far.
        beam: hypotheses of a sentence, which are rows beside each other.
    """
    if beam > 1:
        return _beam_steps(odds, live, untagged, going, scores, beam)
    span = best_span(odds, live, untagged)
    firsts = span.int().argmax(1)
    lasts = span.size(1) - 1 - span.flip(1).int().argmax(1)
    gained = odds.masked_fill(~span, 0.0).sum(1) - log_total(odds, live, untagged)
    rows = torch.arange(len(odds), device=odds.device)
    return _Taken(rows, firsts, lasts, scores + gained.where(going, 0.0))


def _beam_steps(
    odds: Tensor, live: Tensor, untagged: Tensor, going: Tensor, scores: Tensor, beam: int
) -> _Taken:
    """As :func:`_best_steps`; a finished hypothesis has one way to go on, which is to stay."""
    rows, n = odds.shape
    steps = allowed_steps(odds, live, untagged).log_softmax(1)
    stay = torch.full_like(steps[:1], -math.inf)
    stay[:, 0] = 0.0
    steps = torch.where(going[:, None], steps, stay) + scores[:, None]
    scores, found = _first_largest(steps.view(rows // beam, -1), beam)
    parents = found // steps.size(1) + torch.arange(0, rows, beam, device=odds.device)[:, None]
    parents, phrase = parents.flatten(), found.flatten() % steps.size(1) - 1
    word = (untagged[parents] - 1).clamp(min=0)
    firsts, lasts = (torch.where(phrase < 0, word, own) for own in (phrase % n, phrase // n))
    return _Taken(parents, firsts, lasts, scores.flatten())


def _first_largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest values of each row, (rows, count), and their places; of equal ones the first."""
    values = values.clone()
    found = []
    for _ in range(count):
        found.append(values.max(1))
        values.scatter_(1, found[-1].indices[:, None], -math.inf)
    return torch.stack([one.values for one in found], 1), torch.stack(
        [one.indices for one in found], 1
    )


def allowed_steps(odds: Tensor, live: Tensor, untagged: Tensor) -> Tensor:
    """Scores of all steps, (rows, 1 + n * n), -inf for those that are not allowed.

    The first step tags the next word; step 1 + e n + s composes the symbols from place s to e.

    Args:
        odds: (rows, n) log-odds.
        live: (rows, n) places of symbols.
        untagged: (rows,) words not yet tagged, the first ones of the sentence.
    """
    n = odds.size(1)
    done = _done(live, untagged)
    odds_done = odds.masked_fill(~done, 0.0)
    upto = odds_done.cumsum(1)
    sums = upto[:, :, None] + (odds_done - upto)[:, None]
    later = torch.ones(n, n, dtype=torch.bool, device=odds.device).tril(-1)
    allowed = later & done[:, :, None] & done[:, None]
    return torch.cat([
        _tagging(odds, untagged)[:, None], sums.masked_fill(~allowed, -math.inf).flatten(1)
    ], 1)  # fmt: skip


def log_total(odds: Tensor, live: Tensor, untagged: Tensor) -> Tensor:
    """(rows,) log of the sum of exp of :func:`allowed_steps`, in linear time; -inf without any."""
    done = _done(live, untagged)
    odds_done = odds.masked_fill(~done, 0.0)
    upto = odds_done.cumsum(1)
    before = (odds_done - upto).masked_fill(~done, -math.inf).logcumsumexp(1)[:, :-1]
    phrases = (upto[:, 1:] + before).masked_fill(~done[:, 1:], -math.inf)
    return torch.cat([_tagging(odds, untagged)[:, None], phrases], 1).logsumexp(1)


def _done(live: Tensor, untagged: Tensor) -> Tensor:
    place = torch.arange(live.size(1), device=live.device)
    return live & (place >= untagged[:, None])


def _tagging(odds: Tensor, untagged: Tensor) -> Tensor:
    """(rows,) score of tagging the next word, -inf where all words are tagged."""
    word = (untagged - 1).clamp(min=0)[:, None]
    return odds.gather(1, word)[:, 0].masked_fill(untagged == 0, -math.inf)


def _span(live: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
    place = torch.arange(live.size(1), device=live.device)
    return live & (place >= firsts[:, None]) & (place <= lasts[:, None])


def _end(live: Tensor, lasts: Tensor, lengths: Tensor) -> Tensor:
    """(rows,) where the last symbol's words end: where the next symbol stands."""
    place = torch.arange(live.size(1), device=live.device)
    later = live & (place > lasts[:, None])
    return torch.where(later.any(1), later.int().argmax(1), lengths)


def _best_composition(
    trail: list[tuple], symbols: Tensor, scores: Tensor, beam: int
) -> Composition:
    """Go back from the most likely hypothesis of each sentence along its parents."""
    best = scores.view(-1, beam).argmax(1)
    last = rows = best + torch.arange(0, len(scores), beam, device=scores.device)
    found = []
    for parents, *step in reversed(trail):
        found.append([None if one is None else one[rows] for one in step])
        rows = parents[rows]
    going, starts, ends, categories, *kept = (
        None if own[0] is None else torch.stack(own[::-1], 1) for own in zip(*found, strict=True)
    )
    steps = int(going.sum(1).max())
    going, starts, ends, categories, *kept = (
        None if one is None else one[:, :steps] for one in (going, starts, ends, categories, *kept)
    )
    return Composition(going, starts, ends, categories, symbols[last], scores[last], *kept)
