"""Projective dependency trees in plain torch, vectorised over spans and batch (Eisner, 1996).

The path taken on a GPU, at third and higher derivatives, and where scores leave the range that
the compiled kernels can handle; and the oracle of those kernels. All is done in the log domain.

``complete[h, e]`` stands for the trees over the words from h to e whose head is h (e on either
side), ``incomplete[h, m]`` for those in which h is the head of m. One function computes all sums
over trees; what ``reduce`` does with the alternatives decides what the sum's gradient is:
marginals for ``logsumexp``, the best tree for ``maximum``, an exact sample for ``sampler``.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# Stands for -inf where a sum of such would have to be finite: no tree costs as much, and its exp
# is 0 all the same.
FORBIDDEN = -1e15


def log_partition(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    reduce: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Log of the sum over projective trees of exp(score), differentiable to any order.

    Args:
        scores: (batch, n, n) arc scores in float64, the root's on the diagonal.
        lengths: (batch,) words per sentence.
        single_root: whether the root has exactly one modifier.
        reduce: what takes the alternatives in the last dimension together; ``logsumexp``.

    Returns:
        (batch,); below ``FORBIDDEN / 2`` where there is no tree.
    """
    reduce = reduce or logsumexp
    batch, n, _ = scores.shape
    scores = scores.clamp_min(FORBIDDEN)
    complete = scores.new_zeros(batch, n, n)
    incomplete = scores.new_zeros(batch, n, n)

    def rows(chart: Tensor, offset: int, count: int, width: int) -> Tensor:
        """(batch, count, width): row r starts r rows and r columns further than row 0."""
        return chart.as_strided(
            (batch, count, width), (n * n, n + 1, 1), chart.storage_offset() + offset
        )

    def columns(chart: Tensor, offset: int, count: int, width: int) -> Tensor:
        """The same, down columns instead of along rows."""
        return chart.as_strided(
            (batch, count, width), (n * n, n + 1, n), chart.storage_offset() + offset
        )

    for d in range(1, n):
        spans = n - d
        # Span i covers the words i .. i + d; alternatives are in the last dimension.
        between = reduce(rows(complete, 0, spans, d) + rows(complete, d * n + 1, spans, d))
        rightward = between + scores.diagonal(d, 1, 2)
        leftward = between + scores.diagonal(-d, 1, 2)
        incomplete.diagonal(d, 1, 2).copy_(rightward)
        incomplete.diagonal(-d, 1, 2).copy_(leftward)
        right = reduce(rows(incomplete, 1, spans, d) + columns(complete, n + d, spans, d))
        left = reduce(rows(incomplete, d * n, spans, d) + columns(complete, 0, spans, d))
        complete.diagonal(d, 1, 2).copy_(right)
        complete.diagonal(-d, 1, 2).copy_(left)
    root = scores.diagonal(0, 1, 2)
    sentences = torch.arange(batch, device=scores.device)
    if single_root:
        # The root's modifier m has complete[m, 0] on its left and complete[m, last] on its right.
        ends = complete[sentences, :, lengths - 1]
        words = torch.arange(n, device=scores.device) < lengths[:, None]
        alternatives = (root + complete[:, :, 0] + ends).masked_fill(~words, 2 * FORBIDDEN)
        return reduce(alternatives)
    # prefix[j]: the first j words, all attached; rooted[j]: j the root's last modifier.
    prefixes, rooted = [scores.new_zeros(batch)], []
    for j in range(n):
        before = reduce(torch.stack(prefixes, 1) + complete[:, j, : j + 1])
        rooted.append(before + root[:, j])
        prefixes.append(reduce(torch.stack(rooted, 1) + complete[:, : j + 1, j]))
    return torch.stack(prefixes, 1)[sentences, lengths]


def logsumexp(alternatives: Tensor) -> Tensor:
    return alternatives.logsumexp(-1)


def maximum(alternatives: Tensor) -> Tensor:
    """The highest alternative; ties go to one of them, not to all."""
    return alternatives.max(-1).values


def sampler(generator: torch.Generator | None) -> Callable[[Tensor], Tensor]:
    """logsumexp whose gradient is one alternative, drawn with the probability it has."""

    class Sample(torch.autograd.Function):
        @staticmethod
        def forward(context, alternatives: Tensor) -> Tensor:
            context.save_for_backward(alternatives)
            return alternatives.logsumexp(-1)

        @staticmethod
        def backward(context, gradient: Tensor) -> Tensor:
            (alternatives,) = context.saved_tensors
            weights = alternatives.softmax(-1).flatten(0, -2)
            drawn = torch.multinomial(weights, 1, generator=generator)
            one_hot = torch.zeros_like(weights).scatter_(1, drawn, 1.0)
            return one_hot.view_as(alternatives) * gradient.unsqueeze(-1)

    return Sample.apply
