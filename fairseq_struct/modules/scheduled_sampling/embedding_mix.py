"""Embedding mixes: from a model's scores over the vocabulary to one input vector.

Mihaylova's thesis, section 3.3.2: with scores s(y) and input embeddings e(y), the input vector of
the next decoder pass is  e_bar = sum_y w(y) e(y).  The mixes differ in the weights w.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from entmax import sparsemax
from torch import Tensor, nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.structure.categorical import gumbel_noise, negative_log_uniform
from fairseq_struct.structure.checks import refuse_fractions
from fairseq_struct.structure.entmax15 import entmax15
from fairseq_struct.structure.given_tensors import is_differentiated
from fairseq_struct.structure.precision import at_least_float32

MIXES = (
    "argmax",
    "top_k",
    "softmax",
    "gumbel_softmax",
    "sparsemax",
    "entmax15",
    "sample",
)

# These choose a single token: no gradient reaches the scores.
DISCRETE_MIXES = ("argmax", "sample")

# Number of highest scores that a sparse mapping uses at first. Trained models have a support of a
# few words. If more are needed, the number doubles until the result is exact.
SPARSE_START = 64


# Weights below this are set to 0. They have no effect on the result, but a high inverse temperature
# makes thousands of denormal numbers, which slow a matrix product on a CPU down by a third.
NEGLIGIBLE = 1e-30


class EmbeddingMix(nn.Module):
    """Mix of input embeddings, weighted by a model's own predictions.

    ``e_bar = sum_y w(y) e(y)`` with, for scores s and inverse temperature alpha,

    - ``argmax``: w = 1 at the highest score;
    - ``top_k``: w proportional to softmax(s) on the k highest scores, summing to 1 over them;
    - ``softmax``: w(y) = exp(alpha s(y)) / sum_y' exp(alpha s(y'))  (eq. 3.1);
    - ``gumbel_softmax``: w(y) = exp(alpha s(y) + G_y) / sum_y' exp(alpha s(y') + G_y'),
      G = -log(-log U), U ~ Uniform(0, 1)  (eq. 3.2);
    - ``sparsemax``: Euclidean projection of s onto the simplex (Martins and Astudillo, 2016);
    - ``entmax15``: the 1.5-entmax of s (Peters et al., 2019; beyond Mihaylova's thesis);
    - ``sample``: w = 1 at a token drawn from softmax(alpha s) (beyond Mihaylova's thesis).

    alpha multiplies the scores of every mix. Mihaylova's thesis varies it for softmax and Gumbel
    softmax only, and has 1 elsewhere.

    Args:
        name: one of ``MIXES``.
        alpha: inverse temperature, above 0.
        top_k: number of words mixed by ``top_k``; 5 in Mihaylova's thesis.
        scale_noise: multiply the Gumbel noise by alpha as well, alpha (s + G): the usual concrete
            distribution, as in Goyal et al. (2017). The default scales the scores only, as in
            eq. 3.2.

    Raises:
        ValueError: unknown name, alpha <= 0, or top_k no integer above 0.
    """

    def __init__(
        self, name: str, alpha: float = 1.0, top_k: int = 5, scale_noise: bool = False
    ):
        super().__init__()
        if name not in MIXES:
            raise ValueError(unknown_name("embedding mix", name, MIXES))
        if not 0 < alpha < math.inf:
            raise ValueError(
                f"the inverse temperature alpha must be above 0 and finite, not {alpha}"
            )
        refuse_fractions(top_k=top_k)
        if top_k < 1:
            raise ValueError(f"top_k must be 1 or more, not {top_k}")
        self.name = name
        self.alpha = alpha
        self.top_k = top_k
        self.scale_noise = scale_noise

    def extra_repr(self) -> str:
        return f"{self.name}, alpha={self.alpha}, top_k={self.top_k}"

    def forward(
        self,
        scores: Tensor,
        embeddings: Tensor,
        generator: torch.Generator | None = None,
        overwrite_scores: bool = False,
    ) -> Tensor:
        """Mix ``embeddings`` by the weights that ``scores`` give.

        The weights are computed in float32 (float64 for float64 scores). Gradients always flow to
        ``embeddings``, and to ``scores`` unless the mix is one of ``DISCRETE_MIXES``.

        Args:
            scores: (n, vocabulary) unnormalised scores; -inf excludes a word.
            embeddings: (vocabulary, dim) input embeddings.
            generator: source of the noise of ``gumbel_softmax`` and ``sample``.
            overwrite_scores: allow the weights to overwrite ``scores`` if they need no gradient;
                saves time with large vocabularies.

        Returns:
            (n, dim) vectors in the precision of ``embeddings``. A row with a score that is NaN or
            +inf, or with no other than -inf, gets NaN from every mix: a loss scaler depends on it.

        Raises:
            ValueError: shapes do not fit, or top_k exceeds the vocabulary.
        """
        vocabulary = embeddings.size(0)
        if scores.dim() != 2 or scores.size(1) != vocabulary:
            raise ValueError(
                f"scores must be (n, {vocabulary}) for {vocabulary} embeddings, "
                f"not {tuple(scores.shape)}"
            )
        if self.name == "top_k" and self.top_k > vocabulary:
            raise ValueError(f"top_k = {self.top_k} exceeds the vocabulary of {vocabulary}")
        if self.name == "argmax":
            return _of_highest(scores, embeddings)
        dense = self.name in ("softmax", "gumbel_softmax")
        if dense and not is_differentiated(scores):
            if not overwrite_scores:
                scores = scores.clone()
            return self._mix_constant(scores, embeddings, generator)
        scores = at_least_float32(scores)
        if self.name == "sample":
            noisy = gumbel_noise(scores, generator).add_(scores, alpha=self.alpha)
            return _of_highest(noisy, embeddings)
        if self.name == "gumbel_softmax":
            noise = gumbel_noise(scores, generator)
            if self.scale_noise:
                noise *= self.alpha
            scores = noise.add_(scores, alpha=self.alpha)
        elif self.alpha != 1:
            scores = self.alpha * scores
        if self.name == "top_k":
            values, indices = scores.topk(self.top_k, dim=1)
            return weighted_sum(indices, values.softmax(1), embeddings)
        if self.name == "sparsemax":
            return weighted_sum(*sparse_weights(scores, sparsemax), embeddings)
        if self.name == "entmax15":
            return weighted_sum(*sparse_weights(scores, entmax15), embeddings)
        weights = F.threshold(scores.softmax(1), NEGLIGIBLE, 0.0)
        return weights.to(embeddings.dtype) @ embeddings

    def _mix_constant(
        self, scores: Tensor, embeddings: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """The dense mixes for scores without gradient, without a second (n, vocabulary) tensor."""
        scores = scores.detach()
        weights = at_least_float32(scores)
        noise = None
        if self.name == "gumbel_softmax":
            if self.scale_noise:
                weights += gumbel_noise(weights, generator)
            else:
                # exp(s + G) = exp(s) / -log U saves the second logarithm of the noise.
                noise = negative_log_uniform(weights, generator)
        if self.alpha != 1:
            weights *= self.alpha
        weights.sub_(weights.amax(1, keepdim=True)).exp_()
        if noise is not None:
            weights /= noise
        weights /= weights.sum(1, keepdim=True)
        F.threshold_(weights, NEGLIGIBLE, 0.0)
        return weights.to(embeddings.dtype) @ embeddings


def _of_highest(scores: Tensor, embeddings: Tensor) -> Tensor:
    """The embedding (n, dim) of each row's highest score; NaN where that is not finite."""
    places = scores.argmax(1, keepdim=True)  # NaN counts as the highest
    finite = scores.gather(1, places).isfinite()
    return F.embedding(places[:, 0], embeddings).masked_fill(~finite, torch.nan)


def weighted_sum(indices: Tensor, weights: Tensor, embeddings: Tensor) -> Tensor:
    """sum_j weights[n, j] * embeddings[indices[n, j]], without the (n, j, dim) temporary.

    Args:
        indices: (n, k) rows of ``embeddings``.
        weights: (n, k).
        embeddings: (vocabulary, dim).

    Returns:
        (n, dim), in the precision of ``embeddings``.
    """
    return F.embedding_bag(
        indices, embeddings, per_sample_weights=weights.to(embeddings.dtype), mode="sum"
    )


def sparse_weights(
    scores: Tensor, mapping: Callable[..., Tensor], start: int = SPARSE_START
) -> tuple[Tensor, Tensor]:
    """Apply a sparse mapping exactly, using only the highest scores.

    The support of sparsemax and entmax is a set of highest scores. So the mapping of the top k is
    the mapping of all scores if its smallest weight is 0; otherwise k doubles. A row with a score
    that is NaN or +inf gets NaN weights, as with softmax: a loss scaler depends on this.

    Args:
        scores: (n, vocabulary), float32 or float64.
        mapping: ``entmax.sparsemax`` or :func:`.entmax15`.
        start: the first k.

    Returns:
        Indices and weights, both (n, k), k no smaller than the largest support.
    """
    size = min(start, scores.size(1))
    while True:
        values, indices = scores.topk(size, dim=1)
        overflown = ~values[:, :1].isfinite()  # NaN counts as the largest
        weights = mapping(values.masked_fill(overflown, 0.0), dim=1)
        weights = weights.masked_fill(overflown, torch.nan)
        if size == scores.size(1) or not bool((weights[:, -1] > 0).any()):
            return indices, weights
        size = min(2 * size, scores.size(1))
