"""Distributions over dependency trees: best tree, marginals, samples, SparseMAP and more."""

from functools import cached_property

import torch
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.dependency import heads as heads_module
from fairseq_struct.structure.dependency.arc_scores import ArcScores
from fairseq_struct.structure.dependency.enumeration import all_heads
from fairseq_struct.structure.dependency.log_partition import LogPartition, Marginals
from fairseq_struct.structure.dependency.nonprojective import inference as nonprojective
from fairseq_struct.structure.dependency.projective import inference as projective
from fairseq_struct.structure.dependency.sparsemap import solve as sparsemap
from fairseq_struct.structure.dependency.sparsemap.gradient import Face, SparseMean
from fairseq_struct.structure.padded_sum import padded_sum

# Best trees that score less than this, each word's best arc counting 0, are looked for in float64.
LOWEST_IN_FLOAT32 = -1e4
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
    (but best projective trees of less precise scores in float32, by the compiled kernels); results
    have the scores' precision. In sums over trees, a score more than 1e12 below the best of its
    word counts as 1e12 below it; -inf is the way to forbid an arc.

    Differentiable are ``log_partition``, ``marginals``, ``entropy``, ``log_prob`` and ``kl``, to
    any order, and ``sparsemap`` (its Jacobian is piecewise constant).

    Args:
        scores: (batch, n, n) arc scores.
        lengths: (batch,) words per sentence, 1 to n; n if not given.
        projective: only trees without crossing arcs.
        single_root: only trees whose root has exactly one modifier.
        backend: ``compiled`` kernels for a CPU, plain ``torch`` for any device, or ``auto``,
            by where the scores are. (SparseMAP is solved on the CPU whatever the backend.)
        sparsemap_steps: most best trees that ``sparsemap`` may ask for; if not given, as many as
            it takes to be exact. Fewer are faster where scores are near 0, and warn where they
            do not suffice.

    Raises:
        TypeError: scores, or ``sparsemap_steps``, of another type.
        ValueError: wrong shape, scores that are NaN or +inf, a length below 1 or above n, a word
            all of whose arcs are forbidden, or ``sparsemap_steps`` below 1.
    """

    def __init__(
        self,
        scores: Tensor,
        lengths: Tensor | None = None,
        projective: bool = True,
        single_root: bool = False,
        backend: str = "auto",
        sparsemap_steps: int | None = None,
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
        self.projective = bool(projective)
        self.single_root = bool(single_root)
        if backend == "auto":
            backend = "compiled" if scores.device.type == "cpu" else "torch"
        self.backend = backend
        self.sparsemap_steps = sparsemap_steps
        if sparsemap_steps is not None:
            checks.whole_number("sparsemap_steps", sparsemap_steps, 1)
        self._values: tuple[Tensor, Tensor, bool] | None = None
        self._arc_scores = ArcScores(scores, self.lengths)

    @property
    def within(self) -> Tensor:
        """Which arcs are inside of their sentence, (batch, n, n) booleans."""
        return self._arc_scores.within

    @property
    def _differentiable(self) -> Tensor:
        return self._arc_scores.differentiable()

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
        scores = self._arc_scores.exact
        if self.backend == "torch" and self.projective:  # which is in the log domain, as sums are
            scores = self._arc_scores.bounded
        how, kernels = (self.single_root, self.backend), self.backend == "compiled"
        if kernels and self.projective and self.scores.dtype != torch.float64:
            best, heads = self._trees.best_heads(scores.float(), self.lengths, *how)
            # Arcs of very low scores, where a tree needs them, drown the digits of the others.
            if (low := best < LOWEST_IN_FLOAT32).any():
                again = self._trees.best_heads(scores[low], self.lengths[low], *how)
                best[low], heads[low] = again
        else:
            best, heads = self._trees.best_heads(scores, self.lengths, *how)
        return self._require_trees(best), heads

    @property
    def heads(self) -> Tensor:
        """Heads of the best tree, (batch, n), as in CoNLL-U: 1-based, 0 the root (and padding)."""
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
            with torch.inference_mode(False):  # whose tensors would be of no use later on
                value, marginals = self._trees.log_partition_and_marginals(
                    self._arc_scores.bounded, self.lengths, self.single_root, self.backend,
                    want_marginals,
                )
            self._values = self._require_trees(value), marginals, want_marginals
        return self._values[:2]

    @property
    def _how(self) -> tuple:
        return self._trees, self.single_root, self.backend

    def _log_partition(self, scores: Tensor) -> Tensor:
        """Of the scores less each word's best, given :attr:`_differentiable`."""
        return LogPartition.apply(
            scores, self.lengths, *self._known(scores.requires_grad), *self._how
        )

    def _marginals(self, scores: Tensor) -> Tensor:
        return Marginals.apply(scores, self.lengths, self._known(True)[1], *self._how)

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,): log of the sum over all trees of exp(score)."""
        value = self._log_partition(self._differentiable) + padded_sum(self._arc_scores.shift)
        return value.to(self.scores.dtype)

    @property
    def marginals(self) -> Tensor:
        """P(arc is in the tree), (batch, n, n): the mean of z (Mihaylova's thesis, eq. 2.6)."""
        return self._marginals(self._differentiable).to(self.scores.dtype)

    def _mean_score(self, scores: Tensor, marginals: Tensor) -> Tensor:
        if self._arc_scores.any_forbidden:
            # A forbidden arc has probability 0, and 0 times -inf counts as 0.
            scores = scores.masked_fill((marginals == 0) & (scores == -torch.inf), 0.0)
        return padded_sum(scores * marginals, 2)

    @property
    def entropy(self) -> Tensor:
        """H(p) = log Z - E[score], (batch,), in nats.

        If all trees need an arc d below its word's best, crossing ones lose d * 1e-16 of it.
        """
        scores = self._differentiable
        mean = self._mean_score(scores, self._marginals(scores))
        return (self._log_partition(scores) - mean).to(self.scores.dtype)

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
        scores, others = self._differentiable, other._differentiable
        marginals = self._marginals(scores)
        mean = self._mean_score(scores, marginals) - other._mean_score(others, marginals)
        value = mean - self._log_partition(scores) + other._log_partition(others)
        return value.to(self.scores.dtype)

    def score(self, heads: Tensor) -> Tensor:
        """Score of given trees, (..., batch), by their heads (..., batch, n)."""
        return self._score(self._arc_scores.in_float64(), heads).to(self.scores.dtype)

    def _score(self, scores: Tensor, heads: Tensor) -> Tensor:
        self._check_heads(heads)
        rows = heads_module.rows_of(heads, self.lengths)
        picked = scores.expand(*heads.shape[:-1], *scores.shape[1:])
        own = picked.gather(-2, rows.unsqueeze(-2)).squeeze(-2)
        words = torch.arange(heads.size(-1), device=heads.device) < self.lengths[:, None]
        return padded_sum(own.masked_fill(~words, 0.0))

    def log_prob(self, heads: Tensor) -> Tensor:
        """log p of given trees, (..., batch); -inf for heads that are no tree of this kind.

        Args:
            heads: (..., batch, n) integers, 1-based, 0 the root; ignored beyond the end.

        Raises:
            ValueError: wrong shape, or a head that is no word of its sentence.
        """
        valid, scores = self.is_tree(heads), self._differentiable
        value = self._score(scores, heads) - self._log_partition(scores)
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
        if self._arc_scores.any_forbidden:
            self._best  # noqa: B018 - complains where there is no tree
        with torch.inference_mode(False):  # as in _known
            return self._trees.sample_heads(
                self._arc_scores.bounded, self.lengths, self.single_root, count, generator,
                self.backend,
            )

    def perturbed(self, generator: torch.Generator | None = None) -> "DependencyTrees":
        """The same scores under standard Gumbel noise on every arc."""
        noise = torch.empty_like(self._arc_scores.exact).uniform_(generator=generator)
        noise = noise.clamp_min_(2.0**-60).log_().neg_().log_()
        return self._like(self._arc_scores.in_float64() - noise)

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
            ValueError: as for :meth:`log_prob`, a word is its own head, or what is known fits no
                tree (on use).
        """
        heads_module.check_known(known, self.lengths, self.scores.shape[:2])
        unknown, words = known < 0, torch.arange(known.size(-1), device=known.device)
        rows = heads_module.rows_of(known.clamp_min(0), self.lengths)
        possible = unknown[:, None, :] | (words[:, None] == rows[:, None, :])
        scores = self._arc_scores.in_float64()
        return self._like(scores.masked_fill(~possible, -torch.inf))

    @cached_property
    def sparse_distribution(self) -> sparsemap.SparseDistribution:
        """The few trees whose mean is :attr:`sparsemap`, their weights, and the gap reached.

        Scores near 0 (as of an untrained parser) ask for thousands of trees, which takes seconds
        for long sentences (:func:`.sparsemap.solve`). A search that ended early, for want of
        ``sparsemap_steps``, is told by a warning, ``gaps`` and ``converged``;
        :meth:`solve_sparsemap` can go on.
        """
        return self.solve_sparsemap(most_steps=self.sparsemap_steps)

    def solve_sparsemap(
        self, tolerance: float = 1e-15, most_steps: int | None = None,
        start: sparsemap.SparseDistribution | None = None,
    ) -> sparsemap.SparseDistribution:  # fmt: skip
        """As :attr:`sparse_distribution`, with options of :func:`.sparsemap.solve`."""
        with torch.inference_mode(False):  # as in _known
            solution = sparsemap.solve(
                self._arc_scores.exact, self.lengths, self.projective, self.single_root, tolerance,
                most_steps, start,
            )
        self._require_trees(torch.where(solution.sizes > 0, 0.0, -torch.inf))
        return solution

    @cached_property
    def _face(self) -> Face:
        kind = self.projective, self.single_root
        return Face(self.sparse_distribution, self._arc_scores.exact, self.lengths, *kind)

    @property
    def sparsemap(self) -> Tensor:
        """argmax_mu <s, mu> - |mu|^2 / 2 over means of trees, (batch, n, n) (eq. 2.8).

        Its gradient is that of the face of the marginal polytope where the solution lies, with all
        of its trees: exact, but where ``sparsemap_steps`` did not suffice.
        """
        return SparseMean.apply(self._differentiable, self._face).to(self.scores.dtype)

    def enumerate(self) -> list[Tensor]:
        """Heads of all trees of every sentence, (trees, length) each; for at most 6 words."""
        kind, device = (self.projective, self.single_root), self.scores.device
        return [torch.tensor(all_heads(int(n), *kind), device=device) for n in self.lengths]

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

    def _check_heads(self, heads: Tensor):
        heads_module.check(heads, self.lengths, self.scores.shape[:2])

    def _like(self, scores: Tensor) -> "DependencyTrees":
        return type(self)(
            scores.masked_fill(~self.within, 0.0), self.lengths, self.projective,
            self.single_root, self.backend, self.sparsemap_steps,
        )
