"""What composers do step by step, and what their units are active for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from fairseq_struct.structure.spans import Span


class StandingSymbol(NamedTuple):
    """A symbol of the current sequence.

    Args:
        span: of its words.
        category: its name; None for a word, or if the model has no categories.
        attention: how likely it is in the span of the step.
    """

    span: Span
    category: str | None
    attention: float


@dataclass(frozen=True)
class CompositionSteps:
    """How a sentence was composed, along gold steps or by the model's own spans.

    Attributes:
        words: words of the sentence.
        spans: of each step, over words: the gold span, or the model's own.
        categories: names of the new symbols, gold or the model's own; None if it has none.
        attention: (steps, n) combined attention.
        live: (steps, n) places of symbols before the step; a symbol stands at its first word.
        shares: (steps, units) w_k, 0 for units that are not active; None without units.
        gold: whether the steps are gold.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    categories: tuple[str, ...] | None
    attention: Tensor
    live: Tensor
    shares: Tensor | None
    gold: bool

    def sequences(self) -> Iterator[list[StandingSymbol]]:
        """Yield the current sequence before each step."""
        names: dict[Span, str] = {}
        for step, places in enumerate(self.live.tolist()):
            starts = [place for place, is_live in enumerate(places) if is_live]
            spans = list(zip(starts, [*starts[1:], len(self.words)], strict=True))
            yield [
                StandingSymbol(span, names.get(span), float(self.attention[step, span[0]]))
                for span in spans
            ]
            if self.categories is not None:
                names[self.spans[step]] = self.categories[step]


@dataclass(frozen=True)
class UnitUse:
    """How often units are active in the steps that make each tag.

    Attributes:
        tags: most frequent first.
        counts: (tags,) steps of each.
        active: (tags, units) steps in which the unit is active.
        sets: (tags, sets) steps in which exactly a set of units is active, a column for each set
            that occurs.
    """

    tags: tuple[str, ...]
    counts: Tensor
    active: Tensor
    sets: Tensor
