"""Window accuracy: whether the place that a model attends to most is in a span, or near it.

From Verma's thesis (2022) on recurrent independent mechanisms, section 4.1.2: a step counts as
right with window w if the unique maximum of the attention lies within the gold span or at most w
places outside it. Places are those of the current sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

WINDOWS = (0, 1, 2)
SINGLE, MULTI = 0, 1
# Names under which the two tables of :class:`WindowAccuracy` are logged and summed up.
TABLES = ("window_counts", "window_sentences")
# The tags of tables TC4.1 and TC4.3 of the thesis, and which metrics are logged and recorded.
TAGS = ("NP", "VP", "PP", "SBAR", "ADJP", "ADVP")
SHOWN = (
    *(f"window_{w}{kind}" for w in WINDOWS for kind in ("", "_single", "_multi", "_sentence")),
    *(f"window_{WINDOWS[-1]}_{tag}" for tag in TAGS),
)


def window_hits(
    attention: Tensor, live: Tensor, span: Tensor, windows: Sequence[int] = WINDOWS
) -> Tensor:
    """Whether the largest attention lies within a span or at most w places outside it.

    A tie for the largest value is wrong, whatever tied, and so is attention that is not a number.

    Args:
        attention: (batch, n).
        live: (batch, n) booleans, the places that hold a symbol of the current sequence. Other
            places have no attention, and do not count for distances.
        span: (batch, n) booleans, the gold span.
        windows: each w.

    Returns:
        (batch, len(windows)) booleans; False for a row without a span, such as a finished sentence.

    Raises:
        ValueError: a window is below 0.
    """
    refuse_negative(windows)
    span = span & live
    seen = attention.masked_fill(~live, -torch.inf)
    largest = live & (seen == seen.amax(1, keepdim=True))
    rank = live.cumsum(1) - 1
    place = (rank * largest).sum(1)
    first = rank.masked_fill(~span, live.size(1)).amin(1)
    last = rank.masked_fill(~span, -1).amax(1)
    outside = torch.maximum(first - place, place - last).clamp(min=0)
    right = (largest.sum(1) == 1) & span.any(1)
    return right[:, None] & (outside[:, None] <= outside.new_tensor(windows))


def refuse_negative(windows: Sequence[int]):
    """Refuse windows below 0.

    Raises:
        ValueError: names the first one.
    """
    below = [window for window in windows if window < 0]
    if below:
        raise ValueError(f"window {below[0]}: must be 0 or more")


def step_counts(hits: Tensor, categories: Tensor, single: Tensor, number: int) -> Tensor:
    """Count steps and hits, by category and by kind of step.

    These counts, as integers, can be added over batches and workers.

    Args:
        hits: (steps, windows) booleans, of :func:`window_hits`.
        categories: (steps,) the category of each step, -1 for an unknown one.
        single: (steps,) booleans, whether the gold span is a single symbol.
        number: of categories.

    Returns:
        (number + 1, 2, 1 + windows) the number of steps, then the hits with each window; of each
        category, unknown ones last, and of single-word and multi-word steps.
    """
    rows = torch.where(categories < 0, number, categories) * 2 + torch.where(single, SINGLE, MULTI)
    values = torch.cat([torch.ones_like(hits[:, :1]), hits], 1).long()
    table = values.new_zeros((number + 1) * 2, values.size(1)).index_add_(0, rows, values)
    return table.view(number + 1, 2, -1)


def sentence_sums(hits: Tensor, real: Tensor) -> Tensor:
    """Number of sentences, and the sums over them of the shares of hits among their steps.

    Args:
        hits: (batch, steps, windows) booleans.
        real: (batch, steps) booleans, false beyond the end of a list.

    Returns:
        (1 + windows,) in float64, which can be added over batches and workers.
    """
    counts = real.sum(1, keepdim=True)
    shares = (hits & real[..., None]).sum(1).double() / counts.clamp(min=1)
    return torch.cat([(counts > 0).double(), shares], 1).sum(0)


@dataclass
class WindowAccuracy:
    """Sums of window accuracies, and their percentages.

    Attributes:
        windows: each w.
        counts: (categories + 1, 2, 1 + windows), of :func:`step_counts`.
        sentences: (1 + windows,), of :func:`sentence_sums`.
    """

    windows: tuple[int, ...]
    counts: Tensor
    sentences: Tensor

    @classmethod
    def empty(cls, categories: int, windows: Sequence[int] = WINDOWS) -> WindowAccuracy:
        """Sums of nothing.

        Args:
            categories: their number.
            windows: each w.

        Raises:
            ValueError: a window is below 0.
        """
        refuse_negative(windows)
        width = 1 + len(windows)
        counts = torch.zeros(categories + 1, 2, width, dtype=torch.long)
        return cls(tuple(windows), counts, torch.zeros(width, dtype=torch.float64))

    def add(self, hits: Tensor, categories: Tensor, single: Tensor, real: Tensor):
        """Add a batch of sentences.

        Args:
            hits: (batch, steps, windows) booleans.
            categories: (batch, steps), -1 for an unknown one.
            single: (batch, steps) booleans, whether the gold span is a single symbol.
            real: (batch, steps) booleans, false beyond the end of a list.
        """
        counts = step_counts(hits[real], categories[real], single[real], len(self.counts) - 1)
        self.counts += counts.to(self.counts.device)
        self.sentences += sentence_sums(hits, real).to(self.sentences.device)

    def percentages(self, tags: Sequence[tuple[str, str]] = ()) -> dict[str, float]:
        """Percentages of right steps, by name; none where no step counts.

        ``window_0`` is over all steps, ``window_0_single`` and ``window_0_multi`` over steps of a
        single symbol and of more, ``window_0_sentence`` the mean over the sentences, and
        ``window_0_NP`` over the steps with the tag NP.

        Args:
            tags: of each category, the tag of its single-word steps, and that of the others; none
                to leave tags out.
        """
        found = self._named("", self.counts.sum((0, 1)))
        found |= self._named("_single", self.counts[:, SINGLE].sum(0))
        found |= self._named("_multi", self.counts[:, MULTI].sum(0))
        found |= self._named("_sentence", self.sentences)
        sums: dict[str, Tensor] = {}
        known = self.counts[:-1] if tags else self.counts[:0]
        for row, names in zip(known, tags, strict=True):
            for kind, name in enumerate(names):
                sums[name] = sums.get(name, 0) + row[kind]
        for name in sorted(sums):
            found |= self._named(f"_{name}", sums[name])
        return found

    def _named(self, ending: str, sums: Tensor) -> dict[str, float]:
        total, *hits = sums.tolist()
        names = (f"window_{window}{ending}" for window in self.windows)
        return {name: 100 * n / total for name, n in zip(names, hits, strict=True) if total}
