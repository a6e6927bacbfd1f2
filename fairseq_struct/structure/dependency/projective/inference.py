"""Inference over projective dependency trees: the choice of method for each sentence.

Sums over trees are first computed in probability space, with every word's best score at 0. If that
leaves the range of float64, scores are shifted by those of the best tree, which then has weight 1.
If that also fails, the log domain is used.

All functions take scores (batch, n, n) in float64 (best trees also in float32), with every word's
best at 0 and -inf outside of each sentence; ``lengths`` (batch,); and whether the root has exactly
one modifier. ``backend`` is ``compiled`` (scores on a CPU) or ``torch``.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.dependency.heads import heads_of
from fairseq_struct.structure.dependency.projective import groups, plain_torch
from fairseq_struct.structure.dependency.projective.groups import (
    Sentences,
    Work,
    arcs_space,
    chart_space,
    reading_space,
)
from fairseq_struct.structure.dependency.sampling import draw_again, draw_all
from fairseq_struct.structure.kernels.compiled import Space, array, run, threads_for, zeros
from fairseq_struct.structure.log_domain import as_sums, no_tree, one_by_one
from fairseq_struct.structure.padded_sum import padded_sum

# The charts of a group of sentences should fit into a processor's second-level cache.
CHART_BYTES = 2**22
# More sentences make longer rows, but rows above this size are no faster.
LANE_BYTES = 256
# Best trees with lower scores (each word's best arc at 0) are searched for again in float64.
LOWEST_IN_FLOAT32 = -1e4


def log_partition_torch(scores: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Log-partition function (batch,), differentiable to any order."""
    return plain_torch.log_partition(scores, lengths, single_root)


def log_partition_and_marginals(
    scores: Tensor, lengths: Tensor, single_root: bool, backend: str, want_marginals: bool = True
) -> tuple[Tensor, Tensor]:
    """Log-partition (batch,), -inf without a tree, and marginals (batch, n, n)."""
    if backend == "torch":
        return _in_log_domain(scores, lengths, single_root)
    log_partition = scores.new_empty(len(scores))
    marginals = zeros(scores.shape)

    def attempt(which: Tensor | slice, weights: np.ndarray, shift: Tensor) -> Tensor:
        own = lengths[which]
        done = torch.zeros(len(weights), dtype=torch.bool, device="cpu")
        everything = isinstance(which, slice)  # then results need no copy
        logs = log_partition if everything else scores.new_empty(len(weights))
        results = marginals if everything else zeros(weights.shape)
        _run(
            groups.log_partition_and_marginals, 2, own,
            # Only weights of at most 1 show by the log-partition function that it is exact.
            Sentences(weights, array(own, np.int64), single_root), want_marginals or not everything,
            array(logs), array(results), array(done, np.bool_),
        )  # fmt: skip
        logs += padded_sum(shift)
        if not everything:
            log_partition[which], marginals[which] = logs, results
        return done

    def in_log_domain(which: Tensor):
        for one, n in one_by_one(which, lengths):
            log_partition[one], marginals[one, :n, :n] = _in_log_domain(
                scores[one, :n, :n], lengths[one], single_root
            )

    def impossible(which: Tensor):
        log_partition[which], marginals[which] = -torch.inf, 0.0

    _persist(scores, lengths, single_root, attempt, in_log_domain, impossible)
    return log_partition, marginals


def hessian_product(
    scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor, backend: str
) -> Tensor:
    """Hessian of the log-partition function (Jacobian of the marginals) times ``direction``."""
    if backend == "torch":
        return _hessian_in_log_domain(scores, lengths, single_root, direction)
    products = zeros(scores.shape)

    def attempt(which: Tensor | slice, weights: np.ndarray, shift: Tensor) -> Tensor:
        own = lengths[which]
        done = torch.zeros(len(weights), dtype=torch.bool, device="cpu")
        results = zeros(weights.shape)
        # A forbidden arc has no tangent, whatever the direction.
        tangents = np.zeros_like(weights)
        with np.errstate(over="ignore", invalid="ignore"):  # the kernel checks results
            np.multiply(weights, array(direction[which]), out=tangents, where=weights > 0)
        _run(
            groups.hessian_products, 4, own,
            Sentences(weights, array(own, np.int64), single_root), tangents,
            array(results), array(done, np.bool_),
        )  # fmt: skip
        products[which] = results
        return done

    def in_log_domain(which: Tensor):
        for one, n in one_by_one(which, lengths):
            products[one, :n, :n] = _hessian_in_log_domain(
                scores[one, :n, :n], lengths[one], single_root, direction[one, :n, :n]
            )

    def impossible(which: Tensor):
        products[which] = 0.0

    _persist(scores, lengths, single_root, attempt, in_log_domain, impossible)
    return products


def best_heads(
    scores: Tensor, lengths: Tensor, single_root: bool, backend: str
) -> tuple[Tensor, Tensor]:
    """Scores (batch,) of the best trees, -inf without a tree, and their heads (batch, n).

    Heads are 1-based, 0 is the root, as in CoNLL-U; beyond a sentence's end they are 0. Scores
    are added in their own precision; float32 takes two thirds of the time. Of trees with the same
    score up to rounding, any one may then be returned.
    """
    if backend == "torch":
        best, arcs = plain_torch.first_order(
            scores, lengths, single_root, plain_torch.best_one
        )
        return as_sums(best), heads_of(arcs)
    values = array(scores, np.float32 if scores.dtype == torch.float32 else np.float64)
    best = torch.empty(len(scores), dtype=torch.float64, device="cpu")
    heads = torch.zeros(scores.shape[:2], dtype=torch.int64, device="cpu")
    _run(
        groups.best_trees, 1, lengths,
        Sentences(values, array(lengths, np.int64), single_root), array(best),
        array(heads, np.int64), dtype=values.dtype.type,
    )  # fmt: skip
    return best, heads


def best_heads_in_float32(
    scores: Tensor, lengths: Tensor, single_root: bool, backend: str
) -> tuple[Tensor, Tensor]:
    """As :func:`best_heads`, for float64 scores converted from a lower precision; compiled only."""
    best, heads = best_heads(scores.float(), lengths, single_root, backend)
    # If a tree needs arcs of very low scores, the digits of the other arcs are lost.
    if (low := best < LOWEST_IN_FLOAT32).any():
        best[low], heads[low] = best_heads(scores[low], lengths[low], single_root, backend)
    return best, heads


def sample_heads(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    count: int,
    generator: torch.Generator | None,
    backend: str,
) -> Tensor:
    """Heads (count, batch, n) of exact samples: p(z) is proportional to exp(score(z))."""
    draw = partial(_sample_in_log_domain, single_root=single_root, generator=generator)
    if backend == "torch":
        return draw_all(draw, scores, lengths, count)
    heads = torch.zeros(count, *scores.shape[:2], dtype=torch.int64, device="cpu")
    seeds = torch.randint(2**62, (len(scores),), generator=generator, device="cpu")

    def attempt(which: Tensor | slice, weights: np.ndarray, shift: Tensor) -> Tensor:
        own = lengths[which]
        done = torch.zeros(len(weights), dtype=torch.bool, device="cpu")
        results = torch.zeros(count, *weights.shape[:2], dtype=torch.int64, device="cpu")
        _run(
            groups.samples, 1, own,
            Sentences(weights, array(own, np.int64), single_root), array(seeds[which], np.int64),
            array(results, np.int64), array(done, np.bool_), states=1,
        )  # fmt: skip
        heads[:, which] = results
        if not isinstance(which, slice):  # weights above 1: the marginals tell what is exact
            done &= _exact(weights, own, single_root)
        return done

    def in_log_domain(which: Tensor):
        draw_again(heads, which, draw, scores, lengths)

    _persist(scores, lengths, single_root, attempt, in_log_domain, lambda which: None)
    return heads


def _exact(weights: np.ndarray, lengths: Tensor, single_root: bool) -> Tensor:
    """Which sums over trees (batch,) are exact, as the sums of the marginals show."""
    done = torch.zeros(len(weights), dtype=torch.bool, device="cpu")
    _run(
        groups.log_partition_and_marginals, 2, lengths,
        Sentences(weights, array(lengths, np.int64), single_root), True,
        np.empty(len(weights)), np.zeros(weights.shape), array(done, np.bool_),
    )  # fmt: skip
    return done


def _persist(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    attempt: Callable[[Tensor | slice, np.ndarray, Tensor], Tensor],
    in_log_domain: Callable[[Tensor], None],
    impossible: Callable[[Tensor], None],
):
    """Try one shift after the other on the remaining sentences, and the log domain last.

    ``attempt(which, weights, shift)`` gets exp of the sentences' shifted scores. It returns which
    of the sentences it could compute.
    """
    weights, shift = np.exp(array(scores)), scores.new_zeros(scores.shape[:2])
    done = attempt(slice(None), weights, shift)
    if done.all():
        return
    which = (~done).nonzero().squeeze(1)
    best, heads = best_heads(scores[which], lengths[which], single_root, "compiled")
    without = best == -torch.inf
    if without.any():
        impossible(which[without])
        which, heads = which[~without], heads[~without]
    rows = torch.where(heads > 0, heads - 1, torch.arange(scores.size(1), device="cpu"))
    shift = scores[which].gather(1, rows[:, None]).squeeze(1)
    shift = shift.masked_fill(shift.isinf(), 0.0)
    done = attempt(which, _exp(array(scores[which]), array(shift)), shift)
    if not done.all():
        in_log_domain(which[~done])


def _exp(scores: np.ndarray, shift: np.ndarray) -> np.ndarray:
    # By numpy, for the reason given in ``compiled.zeros``.
    weights = scores - shift[:, None]
    with np.errstate(over="ignore"):  # the kernels check for it
        return np.exp(weights, out=weights)


def _run(
    verb: Callable, charts: int, lengths: Tensor, *arguments, dtype: type = np.float64,
    states: int = 0,
):  # fmt: skip
    """Run a function of ``groups`` on groups of sentences that share charts.

    Args:
        verb: function of ``groups``, called with ``arguments`` and :class:`.groups.Work`.
        charts: number of charts that it needs.
        lengths: (batch,).
        dtype: precision of charts and scores.
        states: size of the random state.
    """
    batch = len(lengths)
    if batch == 0:
        return
    longest, steps = int(lengths.max()), charts * lengths**3
    size = np.dtype(dtype).itemsize
    fitting = max(1, min(LANE_BYTES // size, CHART_BYTES // (4 * size * charts * longest**2)))
    shares = max(-(-batch // fitting), min(threads_for(float(steps.sum())), batch))
    lanes = -(-batch // shares)
    steps = torch.nn.functional.pad(steps.double(), (0, -batch % lanes))
    work = Work(
        charts * (chart_space(longest, lanes, dtype),),
        max(1, charts // 2) * (arcs_space(longest, lanes, dtype),),
        Space((2, lanes)), Space((lanes,), np.bool_), reading_space(longest, states),
    )  # fmt: skip
    run(verb, steps.view(-1, lanes).sum(1).numpy(), lanes, *arguments, workspace=(work,))


def _in_log_domain(scores: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    value, marginals = plain_torch.first_order(scores, lengths, single_root)
    return as_sums(value), marginals.masked_fill(no_tree(value)[:, None, None], 0.0)


def _hessian_in_log_domain(
    scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor
) -> Tensor:
    return plain_torch.second_order(scores, lengths, single_root, direction)


def _sample_in_log_domain(
    scores: Tensor, lengths: Tensor, single_root: bool, generator: torch.Generator | None
) -> Tensor:
    draw = plain_torch.one_drawn(generator)
    return heads_of(plain_torch.first_order(scores, lengths, single_root, draw)[1])
