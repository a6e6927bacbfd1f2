"""Which gold step comes next, also after a composer has taken spans of its own."""

from __future__ import annotations

import torch
from torch import Tensor


class GoldSteps:
    """The gold steps of a batch, to be asked for at any state of the sentences.

    The next step is the first one of the list that can still be done as it is: a phrase of two or
    more symbols that are there, done, and fill it exactly. If there is none, the next word is to be
    tagged. Along gold steps this is the list itself, without phrases of one symbol; a gold phrase
    that crosses a wrong one is lost, and the sentence itself never is.

    Args:
        starts, ends: (batch, steps) spans over words, the end excluded.
        step_counts: (batch,) steps of each sentence.
        lengths: (batch,) words of each sentence.
        width: n, places of the batch's sentences.
    """

    def __init__(
        self, starts: Tensor, ends: Tensor, step_counts: Tensor, lengths: Tensor, width: int
    ):
        self.starts, self.ends = starts, ends
        steps = torch.arange(starts.size(1), device=starts.device)
        real = steps < step_counts[:, None]
        single = real & (ends - starts == 1)
        self.phrases = real & ~single
        self.at_end = ends == lengths[:, None]
        # The first step of one word tags it; with one-child phrases, there may be more.
        words = torch.where(single, starts, width)
        table = torch.full((len(starts), width + 1), starts.size(1), device=starts.device)
        places = steps.expand_as(words)
        self.tags = table.scatter_reduce(1, words, places, "amin")[:, :width]

    def next(self, live: Tensor, untagged: Tensor) -> Tensor:
        """(batch,) number of the next step; 0 for a sentence that is finished.

        Args:
            live: (batch, n) places of symbols.
            untagged: (batch,) words not yet tagged, the first ones of the sentence.
        """
        if not self.starts.size(1):
            return untagged.new_zeros(len(untagged))
        counts = torch.cat([live.new_zeros(len(live), 1).int(), live.int().cumsum(1)], 1)
        inside = counts.gather(1, self.ends) - counts.gather(1, self.starts)
        beyond = self.at_end | live.gather(1, self.ends.clamp(max=live.size(1) - 1))
        fits = self.phrases & (self.starts >= untagged[:, None]) & (inside > 1)
        fits &= live.gather(1, self.starts) & beyond
        word = (untagged - 1).clamp(min=0)[:, None]
        tag = self.tags.gather(1, word)[:, 0].clamp(max=self.starts.size(1) - 1)
        return torch.where(fits.any(1), fits.int().argmax(1), tag)
