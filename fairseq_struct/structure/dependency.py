"""Distributions over dependency trees: best tree, marginals, samples, SparseMAP and more."""

from functools import cached_property

import torch
from torch import Tensor

from fairseq_struct.structure import checks, nonprojective, projective, sparsemap
from fairseq_struct.structure import heads as heads_module
from fairseq_struct.structure.enumeration import all_heads
from fairseq_struct.structure.log_partition import LogPartition, Marginals

BACKENDS = ("auto", "compiled", "torch")


class DependencyTrees:
    """Dependency trees z over words, with p(z) = exp(score(z)) / Z, score(z) = sum of arc scores.

    An arc from head h to modifier m has its score at ``scores[b, h, m]`` (words count from 0);
    the diagonal ``scores[b, m, m]`` holds the arc from the root to m (Mihaylova's thesis, fig.
    5.7). A score of -inf forbids an arc. Trees, marginals and samples have the same layout, and
    are 0 beyond a sentence's end.

    Projective trees: Eisner's algorithm (1996) and its inside and outside sums. All trees: Chu,
    Liu (1965) and Edmonds (1967), the matrix-tree theorem (Koo et al., 2007) by subtraction-free
    elimination, Wilson's sampler (1996). All is computed in float64, whatever the scores' precision
    (but best projective trees of float32 scores in float32); results have the scores' precision.

    Differentiable are ``log_partition``, ``marginals``, ``entropy``, ``log_prob`` and ``kl``, to
    any order, and ``sparsemap`` (its Jacobian is piecewise constant).

    Args:
        scores: (batch, n, n) arc scores.
        lengths: (batch,) words per sentence, 1 to n; n if not given.
        projective: only trees without crossing arcs.
        single_root: only trees whose root has exactly one modifier.
        backend: ``compiled`` kernels for a CPU, plain ``torch`` for any device, or ``auto``,
            by where the scores are. (SparseMAP is solved on the CPU whatever the backend.)

    Raises:
        TypeError: scores that are no tensor.
        ValueError: wrong shape, scores that are NaN or +inf, a length below 1 or above n, or a
            word all of whose arcs are forbidden.
    """

    def __init__(
        self,
        scores: Tensor,
        lengths: Tensor | None = None,
        projective: bool = True,
        single_root: bool = False,
        backend: str = "auto",
    ):
        scores = checks.scores_as_given(scores)
        if scores.dim() != 3 or scores.size(1) != scores.size(2) or scores.size(1) == 0:
            raise ValueError(
                f"arc scores must have shape (batch, n, n) with n >= 1, not {tuple(scores.shape)}"
            )
        if backend not in BACKENDS:
            raise ValueError(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
        self.scores = scores
        self.lengths = checks.sentence_lengths(lengths, scores)
        self.projective = projective
        self.single_root = single_root
        if backend == "auto":
            backend = "compiled" if scores.device.type == "cpu" else "torch"
        self.backend = backend
        self._values: tuple[Tensor, Tensor, bool] | None = None
        self._any_forbidden = False
        self._exact = scores.double()
        if (self.lengths < scores.size(1)).any():
            self._exact = torch.where(self.within, self._exact, -torch.inf)
        self._check()

    @cached_property
    def within(self) -> Tensor:
        """Which arcs are inside of their sentence, (batch, n, n) booleans."""
        words = torch.arange(self.scores.size(1), device=self.scores.device)
        within = words < self.lengths[:, None]
        return within[:, :, None] & within[:, None, :]

    def _check(self):
        scores = self._exact.detach()
        if scores.sum().isfinite():
            return  # no arc is forbidden, and nothing is wrong
        self._any_forbidden = True
        checks.refuse_nan_and_infinity(scores, "arc {1} -> {2} in sentence {0}")
        orphan = (scores.amax(1) == -torch.inf) & self.within.any(1)
        if orphan.any():
            b, m = orphan.nonzero()[0].tolist()
            raise ValueError(f"all arcs to word {m} in sentence {b} are forbidden (-inf)")

    @property
    def _trees(self):
        return projective if self.projective else nonprojective

    def _require_trees(self, value: Tensor) -> Tensor:
        if (without := value.detach() == -torch.inf).any():
            b = int(without.nonzero()[0])
            raise ValueError(f"the arcs that sentence {b} allows (score above -inf) form no tree")
        return value

    @cached_property
    def _best(self) -> tuple[Tensor, Tensor]:
        scores = self._exact.detach()
        if self.backend == "compiled" and self.scores.dtype != torch.float64 and len(scores):
            finite = scores.masked_fill(scores.isinf(), 0.0) if self._any_forbidden else scores
            if max(map(abs, map(float, finite.aminmax()))) < 1e30:  # sums stay far from overflow
                scores = scores.float()
        best, heads = self._trees.best_heads(scores, self.lengths, self.single_root, self.backend)
        return self._require_trees(best), heads

    @property
    def heads(self) -> Tensor:
        """Heads of the best tree, (batch, n) integers: 1-based, 0 the root, as in CoNLL-U.

        Beyond a sentence's end they are 0.
        """
        return self._best[1]

    @property
    def argmax(self) -> Tensor:
        """The best tree, (batch, n, n) zeros and ones (Mihaylova's thesis, eq. 2.9)."""
        return self._arcs(self.heads)

    @property
    def max(self) -> Tensor:
        """Score of the best tree, (batch,); its gradient is :attr:`argmax`."""
        return self.score(self.heads)

    def _known(self, want_marginals: bool) -> tuple[Tensor, Tensor]:
        """Values of the log-partition function and of the marginals, computed once."""
        if self._values is None or (want_marginals and not self._values[2]):
            value, marginals = self._trees.log_partition_and_marginals(
                self._exact.detach(), self.lengths, self.single_root, self.backend, want_marginals
            )
            self._values = self._require_trees(value), marginals, want_marginals
        return self._values[:2]

    @property
    def _how(self) -> tuple:
        return self._trees, self.single_root, self.backend

    @cached_property
    def _log_partition(self) -> Tensor:
        needed = self._exact.requires_grad and torch.is_grad_enabled()
        return LogPartition.apply(self._exact, self.lengths, *self._known(needed), *self._how)

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,): log of the sum over all trees of exp(score)."""
        return self._log_partition.to(self.scores.dtype)

    @cached_property
    def _marginals(self) -> Tensor:
        return Marginals.apply(self._exact, self.lengths, self._known(True)[1], *self._how)

    @property
    def marginals(self) -> Tensor:
        """P(arc is in the tree), (batch, n, n): the mean of z (Mihaylova's thesis, eq. 2.6)."""
        return self._marginals.to(self.scores.dtype)

    def _mean_score(self, scores: Tensor, marginals: Tensor) -> Tensor:
        if not scores.detach().sum().isfinite():
            # A forbidden arc has probability 0, and 0 times -inf counts as 0.
            scores = scores.masked_fill(marginals.detach() == 0, 0.0)
        return (scores * marginals).sum((1, 2))

    @property
    def entropy(self) -> Tensor:
        """H(p) = log Z - E[score], (batch,), in nats."""
        marginals = self._marginals
        mean = self._mean_score(self._exact, marginals)
        return (self._log_partition - mean).to(self.scores.dtype)

    def kl(self, other: "DependencyTrees") -> Tensor:
        """KL(p || q) = E_p[log p - log q], (batch,), in nats; inf if q forbids what p allows.

        Args:
            other: q, over the same sentences and the same kind of trees.

        Raises:
            ValueError: the two are over different sentences or kinds of trees.
        """
        same = (
            self.scores.shape == other.scores.shape
            and torch.equal(self.lengths, other.lengths)
            and (self.projective, self.single_root) == (other.projective, other.single_root)
        )
        if not same:
            raise ValueError("kl needs two distributions over the same sentences and trees")
        marginals = self._marginals
        difference = self._mean_score(self._exact, marginals) - self._mean_score(
            other._exact, marginals
        )
        return (difference - self._log_partition + other._log_partition).to(self.scores.dtype)

    def score(self, heads: Tensor) -> Tensor:
        """Score of given trees, (..., batch), by their heads (..., batch, n)."""
        return self._score(heads).to(self.scores.dtype)

    def _score(self, heads: Tensor) -> Tensor:
        rows = self._rows(heads)
        picked = self._exact.expand(*heads.shape[:-1], *self._exact.shape[1:])
        own = picked.gather(-2, rows.unsqueeze(-2)).squeeze(-2)
        words = torch.arange(heads.size(-1), device=heads.device) < self.lengths[:, None]
        return own.masked_fill(~words, 0.0).sum(-1)

    def log_prob(self, heads: Tensor) -> Tensor:
        """log p of given trees, (..., batch); -inf for heads that are no tree of this kind.

        Args:
            heads: (..., batch, n) integers, 1-based, 0 the root; ignored beyond the end.

        Raises:
            ValueError: wrong shape, or a head that is no word of its sentence.
        """
        valid = self.is_tree(heads)
        value = self._score(heads) - self._log_partition
        return value.masked_fill(~valid, -torch.inf).to(self.scores.dtype)

    def sample(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """Trees drawn exactly from p, (count, batch, n, n) zeros and ones.

        Args:
            count: how many, independent of each other.
            generator: source of randomness, on the scores' device.

        Raises:
            TypeError, ValueError: ``count`` is no integer, or below 1.
        """
        return self._arcs(self.sample_heads(count, generator))

    def sample_heads(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """As :meth:`sample`, but heads, (count, batch, n) integers."""
        count = checks.whole_number("count", count, 1)
        if self._any_forbidden:
            self._best  # noqa: B018 - complains where there is no tree
        return self._trees.sample_heads(
            self._exact.detach(), self.lengths, self.single_root, count, generator, self.backend
        )

    def perturbed(self, generator: torch.Generator | None = None) -> "DependencyTrees":
        """The same scores under standard Gumbel noise on every arc."""
        noise = torch.empty_like(self._exact).uniform_(generator=generator)
        return self._like(self._exact - noise.clamp_min_(2.0**-60).log_().neg_().log_())

    def perturb_and_map(self, generator: torch.Generator | None = None) -> Tensor:
        """Best tree under Gumbel noise on every arc, (batch, n, n) (Papandreou, Yuille, 2011).

        For trees this is an approximate sample from p; :meth:`sample` is exact.
        """
        return self.perturbed(generator).argmax.to(self.scores.dtype)

    def observe(self, known: Tensor) -> "DependencyTrees":
        """The distribution given what is known of the trees.

        Args:
            known: (batch, n) heads, 1-based, 0 the root, -1 where nothing is known; ignored
                beyond a sentence's end.

        Raises:
            ValueError: as for :meth:`log_prob`, or what is known fits no tree (on use).
        """
        words = torch.arange(known.size(-1), device=known.device)
        unknown = known < 0
        rows = self._rows(known.masked_fill(unknown, 0))
        possible = unknown[:, None, :] | (words[:, None] == rows[:, None, :])
        return self._like(self._exact.masked_fill(~possible, -torch.inf))

    @cached_property
    def sparse_distribution(self) -> sparsemap.SparseDistribution:
        """The few trees whose mean is :attr:`sparsemap`, their weights, and the gap reached."""
        return self.solve_sparsemap()

    def solve_sparsemap(
        self,
        tolerance: float = 1e-8,
        most_steps: int | None = None,
        start: sparsemap.SparseDistribution | None = None,
    ) -> sparsemap.SparseDistribution:
        """As :attr:`sparse_distribution`, with options of :func:`.sparsemap.solve`."""
        solution = sparsemap.solve(
            self._exact.detach(), self.lengths, self.projective, self.single_root, tolerance,
            most_steps, start,
        )
        self._require_trees(torch.where(solution.sizes > 0, 0.0, -torch.inf))
        return solution

    @property
    def sparsemap(self) -> Tensor:
        """argmax_mu <s, mu> - |mu|^2 / 2 over means of trees, (batch, n, n) (eq. 2.8).

        Its gradient is that of the face of the marginal polytope where the solution lies.
        """
        mean = sparsemap.SparseMean.apply(self._exact, self.lengths, self.sparse_distribution)
        return mean.to(self.scores.dtype)

    def enumerate(self) -> list[Tensor]:
        """Heads of all trees of every sentence, (trees, length) each; for at most 6 words."""
        return [
            torch.tensor(
                all_heads(int(length), self.projective, self.single_root),
                device=self.scores.device,
            )
            for length in self.lengths
        ]

    def arcs(self, heads: Tensor) -> Tensor:
        """(..., batch, n, n) zeros and ones of heads (..., batch, n), in the scores' precision."""
        self._check_heads(heads)
        return self._arcs(heads)

    def _arcs(self, heads: Tensor) -> Tensor:
        return heads_module.arcs_of(heads, self.lengths, self.scores.dtype)

    def is_tree(self, heads: Tensor) -> Tensor:
        """Whether heads (..., batch, n) are trees of this kind, (..., batch) booleans."""
        self._check_heads(heads)
        return heads_module.is_tree(heads, self.lengths, self.projective, self.single_root)

    def _rows(self, heads: Tensor) -> Tensor:
        self._check_heads(heads)
        return heads_module.rows_of(heads, self.lengths)

    def _check_heads(self, heads: Tensor):
        if heads.shape[-2:] != self.scores.shape[:2] or heads.is_floating_point():
            raise ValueError(
                f"heads must be integers of shape (..., {self.scores.size(0)}, "
                f"{self.scores.size(1)}), not {heads.dtype} of shape {tuple(heads.shape)}"
            )
        heads_module.check(heads, self.lengths)

    def _like(self, scores: Tensor) -> "DependencyTrees":
        return type(self)(
            scores.masked_fill(~self.within, 0.0), self.lengths, self.projective,
            self.single_root, self.backend,
        )
