"""Distribution over projective trees in which every word decides when to stop."""

from functools import cached_property

import torch
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.dependency import heads as heads_module
from fairseq_struct.structure.dependency.valence.counts import ValenceCounts, counts_of
from fairseq_struct.structure.dependency.valence.inside import best_of, inside, log_sum
from fairseq_struct.structure.dependency.valence.scores import ValenceScores
from fairseq_struct.structure.log_domain import as_sums


class ValenceTrees:
    """Projective trees z with a single root, p(z) = exp(score(z)) / Z, with scores of valence.

    These are the trees of the Dependency Model with Valence (Klein, Manning, 2004). On each of its
    sides, a word repeatedly decides to go on or to stop, and attaches a modifier each time it goes
    on, from the nearest to the farthest. The score of a tree is the sum of the scores of these
    decisions and attachments, and of its root. Decisions, and attachments if their scores say so,
    depend on the direction and on whether the word already has a modifier on that side (its
    valence). With log probabilities as scores, exp(score(z)) is the probability of tree and
    sentence, and Z that of the sentence.

    Computation is in float64, on any device, O(n^3) for a sentence of n words. A score of -inf, or
    below -1e12, forbids. ``log_partition``, ``marginals``, ``counts`` and ``log_prob`` are
    differentiable to any order.

    Args:
        attach: (batch, n, n) scores of arcs from head h to modifier m at [b, h, m], words counted
            from 0, or (batch, n, n, 2) with the valence of h last: 0 for its first modifier on that
            side, 1 for later ones. The diagonal is ignored.
        stop: (batch, n, 2, 2, 2) scores of decisions: [b, h, direction, valence, decision].
            Directions are 0, left, and 1, right; decisions are 0, stop, and 1, go on.
        root: (batch, n) scores of the root's arcs.
        lengths: (batch,) words per sentence, 1 to n; n if not given.

    Raises:
        TypeError: scores that are not tensors.
        ValueError: wrong shapes, scores that are NaN or above 1e12, or a length below 1 or above n.
            On use: the scores of a sentence allow no tree.
    """

    def __init__(self, attach: Tensor, stop: Tensor, root: Tensor, lengths: Tensor | None = None):
        self._scores = ValenceScores(attach, stop, root, lengths)
        self._lengths = self._scores.lengths

    @property
    def lengths(self) -> Tensor:
        """Words per sentence, (batch,)."""
        return self._lengths.clone()

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,): log of the sum over all trees of exp(score)."""
        return self._sum(self._scores.bounded()).to(self._scores.dtype)

    @property
    def counts(self) -> ValenceCounts:
        """Expected counts of attachments, decisions and roots: the gradient of log Z."""
        found = self._gradient(self._sum, torch.is_grad_enabled())
        return ValenceCounts(*(count.to(self._scores.dtype) for count in found))

    @property
    def marginals(self) -> Tensor:
        """P(arc is in the tree), (batch, n, n), the root's arcs on the diagonal."""
        return self.counts.arcs

    @property
    def heads(self) -> Tensor:
        """Heads of the best tree, (batch, n), as in CoNLL-U: 1-based, 0 the root (and padding)."""
        return self._heads.clone()

    @cached_property
    def _heads(self) -> Tensor:
        best = self._gradient(lambda given: self._sum(given, best_of), False)
        return heads_module.heads_of(best.arcs)

    @property
    def argmax(self) -> Tensor:
        """The best tree, (batch, n, n) zeros and ones, the root's arc on the diagonal."""
        return heads_module.arcs_of(self._heads, self._lengths, self._scores.dtype)

    @property
    def max(self) -> Tensor:
        """Score of the best tree, (batch,)."""
        return self.score(self._heads)

    def counts_of(self, heads: Tensor) -> ValenceCounts:
        """Counts of given trees.

        Args:
            heads: (batch, n) integers, 1-based, 0 the root; ignored beyond the end.

        Raises:
            ValueError: heads that form no projective tree with a single root.
        """
        valid = self.is_tree(heads)
        if not valid.all():
            b = int((~valid).nonzero()[0])
            raise ValueError(f"heads of sentence {b} form no projective tree with a single root")
        return counts_of(heads_module.arcs_of(heads, self._lengths, torch.float64))

    def score(self, heads: Tensor) -> Tensor:
        """Score of given trees, (batch,), by their heads; arguments as for :meth:`counts_of`."""
        value = self.counts_of(heads).times(self._scores.given.values())
        return value.to(self._scores.dtype)

    def log_prob(self, heads: Tensor) -> Tensor:
        """log p of given trees, (batch,); arguments as for :meth:`counts_of`."""
        value = self.counts_of(heads).times(self._scores.given.values())
        return (value - self._sum(self._scores.bounded())).to(self._scores.dtype)

    def is_tree(self, heads: Tensor) -> Tensor:
        """Whether heads (batch, n) are projective trees with a single root, (batch,) booleans."""
        if isinstance(heads, Tensor) and heads.dim() != 2:
            raise ValueError(f"heads must have 2 dimensions, not {heads.dim()}")
        heads_module.check(heads, self._lengths, self._scores.words.shape)
        return heads_module.is_tree(heads, self._lengths, projective=True, single_root=True)

    def _sum(self, given: tuple[Tensor, Tensor, Tensor], combine=log_sum) -> Tensor:
        value = as_sums(inside(*given, self._lengths, combine))
        checks.refuse_sentences_without_tree(value)
        return value

    def _gradient(self, function, differentiable: bool) -> ValenceCounts:
        """Gradient of a sum over the batch in its scores, as counts."""
        with torch.inference_mode(False), torch.enable_grad():
            given = self._scores.bounded()
            differentiable = differentiable and self._scores.differentiated
            if not differentiable:
                given = tuple(scores.detach() for scores in given)
            for scores in given:
                scores.requires_grad_()
            found = torch.autograd.grad(
                function(given).sum(), given, create_graph=differentiable
            )
        return ValenceCounts(*found)
