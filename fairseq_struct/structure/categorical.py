"""One choice among k: the unstructured column of table 2.1 in Mihaylova's thesis."""

import torch
from entmax import sparsemax
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.entmax15 import entmax15
from fairseq_struct.structure.precision import at_least_float32

# With more choices than this, only the highest scores are sorted at first.
MANY = 256


class Categorical:
    """One-hot choices z with p(z) = softmax(scores); methods are named as those of trees.

    Mihaylova's thesis, table 2.1: argmax is the best structure, softmax gives the marginals,
    sparsemax is SparseMAP. Computed at least in float32, returned in the scores' precision.

    Args:
        scores: (batch, k) scores; -inf forbids a choice.

    Raises:
        TypeError: scores that are not a tensor.
        ValueError: wrong shape, scores that are NaN or +inf, or no choice allowed.
    """

    def __init__(self, scores: Tensor):
        scores = checks.scores_as_given(scores)
        if scores.dim() != 2 or scores.size(1) == 0:
            raise ValueError(
                f"scores must have shape (batch, k) with k >= 1, not {tuple(scores.shape)}"
            )
        given = scores.detach()
        checks.refuse_nan_and_infinity(given, "choice {1} in instance {0}")
        nothing = given.amax(1) == -torch.inf
        if nothing.any():
            b = int(nothing.nonzero()[0])
            raise ValueError(f"all choices of instance {b} are forbidden (-inf)")
        self.scores = scores
        self.within = torch.ones_like(scores, dtype=torch.bool)

    @property
    def _exact(self) -> Tensor:
        return at_least_float32(self.scores)

    def _as_given(self, value: Tensor) -> Tensor:
        return value.to(self.scores.dtype)

    @property
    def labels(self) -> Tensor:
        """The best choices, (batch,) integers."""
        return self.scores.argmax(1)

    @property
    def argmax(self) -> Tensor:
        """The best choices, (batch, k) one-hot."""
        return self.one_hot(self.labels)

    @property
    def max(self) -> Tensor:
        """Scores of the best choices, (batch,)."""
        return self.scores.amax(1)

    @property
    def log_partition(self) -> Tensor:
        """log sum exp of the scores, (batch,)."""
        return self._as_given(self._exact.logsumexp(1))

    @property
    def marginals(self) -> Tensor:
        """softmax(scores), (batch, k)."""
        return self._as_given(self._exact.softmax(1))

    @property
    def sparsemap(self) -> Tensor:
        """sparsemax(scores), (batch, k): Euclidean projection (Martins, Astudillo, 2016).

        Computed by the entmax library. Its gradient can be differentiated again.
        """
        most = MANY // 2 if self.scores.size(1) > MANY else None
        return self._as_given(sparsemax(self._exact, dim=1, k=most))

    def project(self, target: Tensor, possible: Tensor) -> Tensor:
        """sparsemax(target), (batch, k).

        Args:
            target: (batch, k), near :attr:`marginals` or not.
            possible: (batch, k) booleans, which choices are possible.
        """
        return type(self)(target.masked_fill(~possible, -torch.inf)).sparsemap

    @property
    def entmax15(self) -> Tensor:
        """1.5-entmax(scores), (batch, k) (Peters et al., 2019).

        Computed by the entmax library. Its gradient can be differentiated again.
        """
        most = MANY // 2 if self.scores.size(1) > MANY else None
        return self._as_given(entmax15(self._exact, 1, most))

    @property
    def entropy(self) -> Tensor:
        """H(p), (batch,), in nats."""
        logs = self._exact.log_softmax(1)
        probabilities = logs.exp()
        return self._as_given(-(probabilities * _zero_where_forbidden(logs)).sum(1))

    def kl(self, other: "Categorical") -> Tensor:
        """KL(p || q), (batch,), in nats.

        It is inf if q forbids a choice that p gives a probability. Choices whose probability is 0,
        in the precision that p is computed in, add nothing.

        Raises:
            TypeError, ValueError: q is no such distribution, or one over other choices.
        """
        checks.of_type("kl", other, Categorical)
        if self.scores.shape != other.scores.shape:
            raise ValueError("kl needs two distributions over the same choices")
        logs, others = self._exact.log_softmax(1), other._exact.log_softmax(1)
        probabilities = logs.exp()
        difference = _zero_where_forbidden(logs) - others.masked_fill(probabilities == 0, 0.0)
        return self._as_given((probabilities * difference).sum(1))

    def log_prob(self, labels: Tensor) -> Tensor:
        """log p of choices, (..., batch) for labels (..., batch).

        Raises:
            TypeError, ValueError: labels that are not integers, of another batch, or out of range.
        """
        self._check_labels(labels)
        logs = self._exact.log_softmax(1).expand(*labels.shape, -1)
        return self._as_given(logs.gather(-1, labels.long().unsqueeze(-1)).squeeze(-1))

    def sample(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """Choices drawn from p, (count, batch, k) one-hot.

        Raises:
            TypeError, ValueError: ``count`` is not an integer, or below 1.
        """
        count = checks.whole_number("count", count, 1)
        probabilities = self._exact.detach().softmax(1)
        drawn = torch.multinomial(probabilities, count, replacement=True, generator=generator)
        return self.one_hot(drawn.T)

    def perturbed(self, generator: torch.Generator | None = None) -> "Categorical":
        """The same scores under Gumbel noise; its argmax is an exact sample from p.

        (Exact up to the resolution of uniform numbers: 2^-24 for scores below float64. Choices
        less likely than that are drawn too rarely.)
        """
        return type(self)(self._exact + gumbel_noise(self._exact, generator))

    def perturb_and_map(self, generator: torch.Generator | None = None) -> Tensor:
        """argmax under Gumbel noise, (batch, k) one-hot: an exact sample."""
        return self._as_given(self.perturbed(generator).argmax)

    def observe(self, known: Tensor) -> "Categorical":
        """The distribution given known labels (batch,), -1 where unknown.

        Raises:
            TypeError, ValueError: as for :meth:`log_prob`, or a known label that is forbidden.
        """
        if isinstance(known, Tensor) and known.dim() != 1:
            raise ValueError(f"known labels must have 1 dimension, not {known.dim()}")
        self._check_labels(known * (known >= 0) if isinstance(known, Tensor) else known)
        possible = (known < 0)[:, None] | self.one_hot(known.clamp_min(0)).bool()
        return type(self)(self.scores.masked_fill(~possible, -torch.inf))

    def enumerate(self) -> Tensor:
        """All choices, (k, batch) labels."""
        labels = torch.arange(self.scores.size(1), device=self.scores.device)
        return labels[:, None].expand(-1, self.scores.size(0))

    def one_hot(self, labels: Tensor) -> Tensor:
        """One-hot vectors (..., k) of labels (...), in the scores' precision."""
        zeros = torch.zeros(
            *labels.shape, self.scores.size(1), dtype=self.scores.dtype, device=labels.device
        )
        return zeros.scatter_(-1, labels.long().unsqueeze(-1), 1.0)

    def _check_labels(self, labels: Tensor):
        if not isinstance(labels, Tensor):
            raise TypeError(f"labels must be a tensor, not {type(labels).__name__}")
        batch = self.scores.size(0)
        if labels.dim() < 1 or labels.size(-1) != batch or not checks.is_integral(labels):
            raise ValueError(
                f"labels must be integers of shape (..., {batch}), not {labels.dtype} of shape "
                f"{tuple(labels.shape)}"
            )
        labels = labels.long()  # small integers cannot be compared with large numbers
        wrong = (labels < 0) | (labels >= self.scores.size(1))
        if wrong.any():
            value = int(labels[wrong][0])
            raise ValueError(f"label {value} is not one of the {self.scores.size(1)} choices")


def _zero_where_forbidden(logs: Tensor) -> Tensor:
    return logs.masked_fill(logs == -torch.inf, 0.0)


def negative_log_uniform(like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """-log U, U ~ Uniform(0, 1), positive and finite: a standard exponential variable.

    Args:
        like: the noise takes its shape, precision and device.
        generator: source of U.
    """
    # Vectorised logarithms of uniforms are several times faster on CPU than exponential_().
    uniform = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)
    # rand returns multiples of eps / 2, which include 0.
    return uniform.clamp_min_(torch.finfo(like.dtype).eps / 4).log_().neg_()


def gumbel_noise(like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard Gumbel noise G = -log(-log U), U ~ Uniform(0, 1) (Mihaylova's thesis, eq. 3.2).

    Args:
        like: the noise takes its shape, precision and device.
        generator: source of U.
    """
    return negative_log_uniform(like, generator).log_().neg_()
