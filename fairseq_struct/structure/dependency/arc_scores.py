"""Arc scores prepared for inference: checked, in float64, each word's best score moved to 0."""

from functools import cached_property
from math import isfinite

import torch
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.given_tensors import is_differentiated, version_of
from fairseq_struct.structure.log_domain import LOWEST


class ArcScores:
    """Scores s' = s - max_h s(h -> m), -inf for arcs forbidden or outside of their sentence.

    Every tree has one arc into each word, so a shift of all scores of a word shifts the scores of
    all trees by the same amount. Sums over trees keep all digits of the differences that remain.

    ``exact`` holds s'. ``bounded`` holds max(s', -1e12), for sums: an arc this far below its word's
    best arc is in no tree, unless all trees need such arcs; then the bound keeps the numbers in
    sums from getting too large. ``shift`` (batch, n) is max_h s(h -> m), and ``given`` is s.

    Args:
        scores: (batch, n, n), the root's on the diagonal, -inf for forbidden arcs.
        lengths: (batch,) words per sentence, 1 to n; n if not given.

    Raises:
        TypeError: scores that are not a tensor.
        ValueError: wrong shape, a length out of range, a score that is NaN or +inf, or a word
            without an allowed arc.
        RuntimeError: on use, the given scores were changed in place since.
    """

    def __init__(self, scores: Tensor, lengths: Tensor | None = None):
        scores = checks.scores_as_given(scores)
        if scores.dim() != 3 or scores.size(1) != scores.size(2) or scores.size(1) == 0:
            raise ValueError(
                f"arc scores must have shape (batch, n, n) with n >= 1, not {tuple(scores.shape)}"
            )
        self._given, self._version = scores, version_of(scores)
        self.lengths = lengths = checks.sentence_lengths(lengths, scores)
        self._padded = bool((lengths < scores.size(1)).any())
        with torch.inference_mode(False):  # its tensors cannot be used in autograd later
            exact = self._within_sentences(scores.detach().double())
            least, best = _least_and_best(scores)
            # Two numbers show that scores are finite and close to each other, as most are.
            self.any_forbidden = self._padded or not isfinite(least + best)
            if self.any_forbidden:
                checks.refuse_nan_and_infinity(exact, "arc {1} -> {2} in sentence {0}")
                checks.refuse_words_without_head(exact, lengths)
            shift = exact.amax(1)
            self.shift = shift.masked_fill(shift.isinf(), 0.0) if self._padded else shift
            exact = exact - self.shift[:, None]
            self.exact = self.bounded = exact.contiguous()
            self._low = None
            if not best - least <= -LOWEST:
                low = (exact < LOWEST) & (exact > -torch.inf)
                if low.any():
                    self._low = low
                    self.bounded = self.exact.masked_fill(low, LOWEST)

    @property
    def given(self) -> Tensor:
        """The scores as given.

        Raises:
            RuntimeError: they were changed in place since, as by an optimiser's step.
        """
        version = version_of(self._given)
        if version != self._version:
            # Views share a count: only other parts of a larger tensor may have been changed.
            now = self._within_sentences(self._given.detach().double()) - self.shift[:, None]
            if not torch.equal(now, self.exact):
                raise RuntimeError(
                    "the scores of these trees were changed in place since; make new trees of them"
                )
            self._version = version
        return self._given

    @cached_property
    def within(self) -> Tensor:
        """Which arcs are inside their sentence, (batch, n, n) booleans."""
        words = torch.arange(self._given.size(1), device=self._given.device)
        within = words < self.lengths[:, None]
        return within[:, :, None] & within[:, None, :]

    def _within_sentences(self, scores: Tensor) -> Tensor:
        return torch.where(self.within, scores, -torch.inf) if self._padded else scores

    def in_float64(self) -> Tensor:
        """The scores as given, -inf outside of sentences."""
        return self._within_sentences(self.given.double())

    def differentiable(self) -> Tensor:
        """``bounded`` as a differentiable function of the given scores.

        Rebuilt at each call: no graph is used twice, and a call under ``no_grad`` does not leave a
        later call without a graph.
        """
        if not is_differentiated(self.given):
            return self.bounded
        scores = self.in_float64() - self.shift[:, None]
        if self._low is None:
            return scores
        return torch.where(self._low, LOWEST + (scores - scores.detach()), scores)


def _least_and_best(scores: Tensor) -> tuple[float, float]:
    """The smallest and the largest score; NaN if any score is NaN."""
    if not scores.numel():
        return 0.0, 0.0
    least, best = scores.detach().aminmax()
    return float(least), float(best)
