"""Distributions over dependency trees: best tree, marginals, samples, SparseMAP and more."""

from functools import cached_property

import torch
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.dependency import heads as heads_module
from fairseq_struct.structure.dependency.arc_scores import ArcScores
from fairseq_struct.structure.dependency.beside_gpu import functions_for
from fairseq_struct.structure.dependency.enumeration import all_heads
from fairseq_struct.structure.dependency.log_partition import TreeSums
from fairseq_struct.structure.dependency.nonprojective import inference as all_trees
from fairseq_struct.structure.dependency.projective import inference as projective_trees
from fairseq_struct.structure.dependency.shown import ShownTrees
from fairseq_struct.structure.dependency.sparsemap import solve as sparsemap
from fairseq_struct.structure.dependency.sparsemap.gradient import Face, SparseMean
from fairseq_struct.structure.dependency.sparsemap.interior_projection import project_near_marginals
from fairseq_struct.structure.kernels.untraced import untraced
from fairseq_struct.structure.padded_sum import padded_sum


@untraced
class DependencyTrees(ShownTrees):
    """Dependency trees z over words, with p(z) = exp(score(z)) / Z, score(z) = sum of arc scores.

    An arc from head h to modifier m has its score at ``scores[b, h, m]`` (words count from 0);
    the diagonal ``scores[b, m, m]`` holds the arc from the root to m (Mihaylova's thesis, fig.
    5.7). A score of -inf forbids an arc. Trees, marginals and samples have the same layout, and
    are 0 beyond a sentence's end.

    Projective trees: Eisner's algorithm (1996) and its inside and outside sums. All trees: Chu,
    Liu (1965) and Edmonds (1967), the matrix-tree theorem (Koo et al., 2007) by subtraction-free
    elimination, Wilson's sampler (1996). Computation is in float64, with one exception: for scores
    of lower precision, the compiled kernels find best projective trees in float32. Results have the
    scores' precision. In sums over trees, and in best projective trees of the backend ``torch``, a
    score more than 1e12 below the best of its word counts as 1e12 below it; -inf forbids an arc.
    ``log_partition``, ``marginals``, ``entropy``, ``log_prob`` and ``kl`` are differentiable to any
    order. ``sparsemap`` is differentiable (its Jacobian is piecewise constant).

    Args:
        scores: (batch, n, n) arc scores.
        lengths: (batch,) words per sentence, 1 to n; n if not given.
        projective: only trees without crossing arcs.
        single_root: only trees whose root has exactly one modifier.
        backend: ``compiled`` kernels of the CPU, to which scores on a GPU are brought; plain
            ``torch``, on the scores' device; or ``auto``: ``torch`` for projective trees on a GPU,
            else ``compiled``. (SparseMAP, and :meth:`project`, run on the CPU.)
        sparsemap_steps: maximum number of searches for a best tree in ``sparsemap``; if not given,
            enough for an exact result. A limit saves time if scores are near 0, and may warn.

    Raises:
        TypeError: scores, or ``sparsemap_steps``, of another type.
        ValueError: wrong shape, scores that are NaN or +inf, a length below 1 or above n, a word
            without an allowed arc, or ``sparsemap_steps`` below 1.
        RuntimeError: on use, the scores were changed in place since.
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
        if sparsemap_steps is not None:
            checks.whole_number("sparsemap_steps", sparsemap_steps, 1)
        self._asked, backend = backend, checks.backend_for(scores, backend, projective)
        self._arc_scores = ArcScores(scores, lengths)
        self.scores, self._lengths = self._arc_scores.given, self._arc_scores.lengths
        self.projective, self.single_root = bool(projective), bool(single_root)
        self.backend, self.sparsemap_steps, self._precision = backend, sparsemap_steps, scores.dtype
        trees = projective_trees if self.projective else all_trees
        self._trees = functions_for(self.scores, trees, backend)
        self._sums = TreeSums(self._arc_scores, self._trees, self.single_root, backend)

    @property
    def within(self) -> Tensor:
        """Which arcs are inside their sentence, (batch, n, n) booleans."""
        return self._arc_scores.within.clone()

    @property
    def lengths(self) -> Tensor:
        """Words per sentence, (batch,)."""
        return self._lengths.clone()

    @property
    def heads(self) -> Tensor:
        """Heads of the best tree, (batch, n), as in CoNLL-U: 1-based, 0 the root (and padding)."""
        return self._heads.clone()

    @cached_property
    def _heads(self) -> Tensor:
        scores, find = self._arc_scores.exact, self._trees.best_heads
        if self.projective and self.backend == "torch":  # it works in the log domain, as sums do
            scores = self._arc_scores.bounded
        elif self.projective and self.scores.dtype != torch.float64:
            find = self._trees.best_heads_in_float32
        best, heads = find(scores, self._lengths, self.single_root, self.backend)
        checks.refuse_sentences_without_tree(best)
        return heads

    @property
    def argmax(self) -> Tensor:
        """The best tree, (batch, n, n) zeros and ones (Mihaylova's thesis, eq. 2.9)."""
        return self._arcs(self._heads)

    @property
    def max(self) -> Tensor:
        """Score of the best tree, (batch,); its gradient is :attr:`argmax`."""
        return self.score(self._heads)

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,): log of the sum over all trees of exp(score)."""
        rest = self._sums.log_partition(self._arc_scores.differentiable())
        return (rest + padded_sum(self._arc_scores.shift)).to(self._precision)

    @property
    def marginals(self) -> Tensor:
        """P(arc is in the tree), (batch, n, n): the mean of z (Mihaylova's thesis, eq. 2.6)."""
        return self._sums.marginals(self._arc_scores.differentiable()).to(self._precision)

    @property
    def entropy(self) -> Tensor:
        """H(p) = log Z - E[score], (batch,), in nats.

        If all trees need an arc d below its word's best, the entropy of nonprojective trees has an
        error of up to about d^2 * 1e-16.
        """
        return self._sums.entropy(self._arc_scores.differentiable()).to(self._precision)

    def kl(self, other: "DependencyTrees") -> Tensor:
        """KL(p || q) = E_p[log p - log q], (batch,), in nats.

        It is inf if q forbids an arc that p gives a probability. Arcs whose probability is 0, in
        float64, add nothing.

        Args:
            other: q, over the same sentences and kind of trees; else a TypeError or ValueError.
        """
        checks.of_type("kl", other, DependencyTrees)
        ours, theirs = ((p.scores.size(1), p.projective, p.single_root) for p in (self, other))
        if ours != theirs or not torch.equal(self._lengths, other.lengths):
            raise ValueError("kl needs two distributions over the same sentences and trees")
        scores, others = (p._arc_scores.differentiable() for p in (self, other))
        return self._sums.kl(scores, other._sums, others).to(self._precision)

    def score(self, heads: Tensor) -> Tensor:
        """Score of given trees, (..., batch), by their heads (..., batch, n)."""
        self._check_heads(heads)
        own = heads_module.values_of(self._arc_scores.in_float64(), heads, self._lengths)
        return padded_sum(own).to(self._precision)

    def log_prob(self, heads: Tensor) -> Tensor:
        """log p of given trees, (..., batch); -inf for heads that form no tree of this kind.

        Args:
            heads: (..., batch, n) integers, 1-based, 0 the root; ignored beyond the end.

        Raises:
            ValueError: wrong shape, or a head outside its sentence.
        """
        valid, scores = self.is_tree(heads), self._arc_scores.differentiable()
        own = heads_module.values_of(scores, heads, self._lengths)
        value = padded_sum(own) - self._sums.log_partition(scores)
        return value.masked_fill(~valid, -torch.inf).to(self._precision)

    def sample(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """Trees drawn exactly from p, (count, batch, n, n) zeros and ones.

        Args:
            count: number of independent draws.
            generator: source of randomness, on the scores' device.

        Raises:
            TypeError, ValueError: ``count`` is not an integer, or below 1.
        """
        return self._arcs(self.sample_heads(count, generator))

    def sample_heads(self, count: int = 1, generator: torch.Generator | None = None) -> Tensor:
        """As :meth:`sample`, but heads, (count, batch, n) integers."""
        count = checks.whole_number("count", count, 1)
        if self._arc_scores.any_forbidden:
            self._heads  # noqa: B018 - raises if there is no tree
        with torch.inference_mode(False):  # its tensors cannot be used in autograd later
            given = self._arc_scores.bounded, self._lengths, self.single_root
            return self._trees.sample_heads(*given, count, generator, self.backend)

    def perturbed(self, generator: torch.Generator | None = None) -> "DependencyTrees":
        """Scores, in float64, under standard Gumbel noise; results as precise as of these trees."""
        noise = torch.empty_like(self._arc_scores.exact).uniform_(generator=generator)
        noise = noise.clamp_min_(2.0**-60).log_().neg_().log_()
        trees = self.with_scores(self._arc_scores.in_float64() - noise)
        trees._precision = self._precision
        return trees

    def perturb_and_map(self, generator: torch.Generator | None = None) -> Tensor:
        """Best tree under Gumbel noise on every arc, (batch, n, n) (Papandreou, Yuille, 2011).

        For trees this is an approximate sample from p; :meth:`sample` is exact.
        """
        return self.perturbed(generator).argmax

    def observe(self, known: Tensor) -> "DependencyTrees":
        """The distribution given known heads.

        Args:
            known: (batch, n) heads, 1-based, 0 the root, -1 for unknown ones and padding.

        Raises:
            ValueError: as for :meth:`log_prob`, a word is its own head, or (on use) no tree fits.
        """
        heads_module.check_known(known, self._lengths, self.scores.shape[:2])
        possible = heads_module.arcs_that_fit(known, self._lengths)
        trees = self.with_scores(self._arc_scores.given.masked_fill(~possible, -torch.inf))
        trees._precision = self._precision
        return trees

    def with_scores(self, scores: Tensor) -> "DependencyTrees":
        """The same kind of trees over the same sentences, with other scores (batch, n, n)."""
        own = checks.of_shape("scores", scores, self.scores.shape)
        return type(self)(own.masked_fill(~self._arc_scores.within, 0.0), *self._options())

    def _options(self) -> tuple:
        return self._lengths, self.projective, self.single_root, self._asked, self.sparsemap_steps

    def __reduce__(self):  # copies compute again
        return type(self), (self.scores, *self._options()), {"_precision": self._precision}

    @cached_property
    def sparse_distribution(self) -> sparsemap.SparseDistribution:
        """The few trees whose mean is :attr:`sparsemap`, their weights, and the gap reached.

        Scores near 0 need thousands of trees, seconds for long sentences. If ``sparsemap_steps``
        ends a search early, a warning, ``gaps`` and ``converged`` show it.
        """
        return self.solve_sparsemap(most_steps=self.sparsemap_steps)

    def solve_sparsemap(
        self, tolerance: float = 1e-15, most_steps: int | None = None,
        start: sparsemap.SparseDistribution | None = None,
    ) -> sparsemap.SparseDistribution:  # fmt: skip
        """As :attr:`sparse_distribution`, with options of :func:`.sparsemap.solve`."""
        with torch.inference_mode(False):  # as for samples
            given = self._arc_scores.exact, self._lengths, self.projective, self.single_root
            solution = sparsemap.solve(*given, tolerance, most_steps, start)
        checks.refuse_sentences_without_tree(torch.where(solution.sizes > 0, 0.0, -torch.inf))
        return solution

    @cached_property
    def _face(self) -> Face:
        kind = self.projective, self.single_root
        return Face(self.sparse_distribution, self._arc_scores.exact, self._lengths, *kind)

    @property
    def sparsemap(self) -> Tensor:
        """argmax_mu <s, mu> - |mu|^2 / 2 over means of trees, (batch, n, n).

        Mihaylova's thesis, eq. 2.8. The gradient uses all trees of the face of the solution. It is
        exact unless ``sparsemap_steps`` was too low, or all scores differ by less than 1e-8.
        """
        return SparseMean.apply(self._arc_scores.differentiable(), self._face).to(self._precision)

    def project(self, target: Tensor, possible: Tensor) -> Tensor:
        """SparseMAP of a target near :attr:`marginals`, (batch, n, n), mostly without a search.

        Args:
            target: (batch, n, n); 0 where no arc is possible. NaN or +inf raises a ValueError.
            possible: (batch, n, n) booleans, which arcs are possible.
        """
        if self.scores.device.type == "cpu":
            return project_near_marginals(self, target, possible)
        # Thousands of short steps, for which a GPU takes longer.
        trees = type(self)(self.scores.cpu(), self._lengths.cpu(), *self._options()[1:])
        return trees.project(target.cpu(), possible.cpu()).to(target.device)

    def enumerate(self) -> list[Tensor]:
        """Heads of all trees of every sentence, (trees, length) each; for at most 6 words."""
        kind, device = (self.projective, self.single_root), self.scores.device
        return [torch.tensor(all_heads(int(n), *kind), device=device) for n in self._lengths]

    def arcs(self, heads: Tensor) -> Tensor:
        """Zeros and ones (..., batch, n, n) for heads (..., batch, n), in the scores' precision."""
        self._check_heads(heads)
        return self._arcs(heads)

    def _arcs(self, heads: Tensor) -> Tensor:
        return heads_module.arcs_of(heads, self._lengths, self._precision)

    def is_tree(self, heads: Tensor) -> Tensor:
        """Whether heads (..., batch, n) are trees of this kind, (..., batch) booleans."""
        self._check_heads(heads)
        return heads_module.is_tree(heads, self._lengths, self.projective, self.single_root)

    def _check_heads(self, heads: Tensor):
        heads_module.check(heads, self._lengths, self.scores.shape[:2])
