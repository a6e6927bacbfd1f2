"""Samples of translations that do not depend on the batch."""

from __future__ import annotations

import numpy as np
import torch
from fairseq.search import Search
from torch import Tensor


class SampledSearch(Search):
    """Draws each next symbol from its distribution; all hypotheses of a sentence are independent.

    Each sentence has its own random numbers, from the seed and the sentence's number. fairseq's own
    sampling takes those of all sentences from one stream, so that they depend on the batch.

    Args:
        dictionary: the target dictionary.
        seed: the seed.
        top_k: draw from the k most likely symbols; from all if None.
    """

    def __init__(self, dictionary, seed: int, top_k: int | None = None):
        super().__init__(dictionary)
        self.seed = seed
        self.top_k = None if top_k is None else min(top_k, self.vocab_size)
        self._random: dict[int, np.random.Generator] = {}

    def step(
        self,
        step: int,
        lprobs: Tensor,
        scores: Tensor | None,
        prev_output_tokens: Tensor | None = None,
        original_batch_idxs: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Draw a symbol for each hypothesis, as the base class says.

        Args:
            step: number of symbols so far.
            lprobs: (batch, beam, vocabulary) log-probabilities of the next symbol.
            scores: (batch, beam, step) sums of log-probabilities so far.
            prev_output_tokens: not used.
            original_batch_idxs: (batch,) numbers of the sentences.
        """
        chances = lprobs.double().exp()
        if self.top_k is not None:
            most = chances.topk(self.top_k)  # k of them, also where more are equally likely
            chances = torch.zeros_like(chances).scatter(-1, most.indices, most.values)
        below = chances.cumsum(-1)
        place = self._uniform(original_batch_idxs, lprobs.size(1)).to(below.device)
        drawn = torch.searchsorted(below, place[..., None] * below[..., -1:], right=True)
        drawn = drawn.clamp_max(lprobs.size(2) - 1)
        found = lprobs.gather(2, drawn).squeeze(2)
        if step:
            found = found + scores[:, :, step - 1]
        beams = torch.arange(lprobs.size(1), device=lprobs.device).expand(len(lprobs), -1)
        return found, drawn.squeeze(2), beams.clone()

    def _uniform(self, numbers: Tensor, count: int) -> Tensor:
        """Uniform numbers in [0, 1), (sentences, count)."""
        rows = []
        for number in numbers.tolist():
            if number not in self._random:
                self._random[number] = np.random.default_rng([self.seed, number])
            rows.append(self._random[number].random(count))
        return torch.from_numpy(np.stack(rows))
