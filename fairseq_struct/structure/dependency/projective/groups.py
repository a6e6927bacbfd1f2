"""Compiled inference over projective trees, for groups of sentences that share a chart.

The kernels that a verb needs are called one after the other, each with results of the last one: a
verb compiles what it calls, and what several verbs call is compiled once. Every function here runs
over groups ``first`` .. ``last - 1`` of ``lanes`` sentences; what it takes last are arrays to work
in (see ``projective._run``).
"""

import numpy as np

from fairseq_struct.structure.dependency.projective import eisner_kernels
from fairseq_struct.structure.dependency.projective import (
    inside_outside_kernels as projective_kernels,
)
from fairseq_struct.structure.dependency.projective import (
    tangent_kernels as projective_tangent_kernels,
)
from fairseq_struct.structure.dependency.projective.inside_outside_kernels import (
    LARGEST,
    ROOT_WEIGHT,
)


def log_partition_and_marginals(
    first, last, lanes, weights, lengths, single_root, want_marginals, log_partition, marginals,
    done, charts, outer, spread, vectors, by, sums, flags,
):  # fmt: skip
    """Inside and outside algorithm.

    Args:
        weights: (batch, n, n) exp of shifted scores.
        log_partition, marginals, done: results; ``done`` says where they are exact.
    """
    for start, used, good in _groups(first, last, lanes, lengths, flags):
        part = slice(start, start + used)
        n = _inside(weights, lengths, single_root, start, used, charts, spread, vectors, sums, good)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_partition[part] = np.log(sums[0, :used])
        if want_marginals:
            projective_kernels.outside_of_root(
                n, used, single_root, lengths, start, charts, vectors, sums[0], outer, by
            )
            projective_kernels.outside(n, used, spread, charts, outer)
            projective_kernels.within_range(n, used, outer, lengths, start, good)
            projective_kernels.unload_marginals(
                n, used, lengths, start, charts, vectors, outer, by, marginals, good
            )
        done[part] = good


def hessian_products(
    first, last, lanes, weights, tangents, lengths, single_root, products, done, charts, dcharts,
    outer, douter, spread, dspread, vectors, dvectors, by, dby, sums, flags,
):  # fmt: skip
    """Hessian of the log-partition function times a direction.

    Args:
        weights: (batch, n, n) exp of shifted scores.
        tangents: (batch, n, n) weights times direction.
        products, done: results; ``done`` says where they are exact.
    """
    both, both_outer, partition = (charts, dcharts), (outer, douter), (sums[0], sums[1])
    both_vectors, both_by, both_spread = (vectors, dvectors), (by, dby), (spread, dspread)
    zero, kernels = np.float64(0.0), projective_tangent_kernels
    for start, used, good in _groups(first, last, lanes, lengths, flags):
        for values, where, roots in (
            (weights, spread, vectors[ROOT_WEIGHT]), (tangents, dspread, dvectors[ROOT_WEIGHT])
        ):  # fmt: skip
            n = projective_kernels.load(values, lengths, start, used, zero, where, roots)
        root = n, used, single_root, lengths, start, both, both_vectors, partition
        kernels.inside(n, used, both_spread, both)
        kernels.inside_of_root(*root)
        kernels.outside_of_root(*root, both_outer, both_by)
        kernels.outside(n, used, both_spread, both, both_outer)
        for chart in (charts, outer):
            projective_kernels.within_range(n, used, chart, lengths, start, good)
        # The products' place serves for the marginals until they have been looked at.
        projective_kernels.unload_marginals(
            n, used, lengths, start, charts, vectors, outer, by, products, good
        )
        kernels.unload(
            n, used, lengths, start, both, both_vectors, both_outer, both_by, partition, products,
            good,
        )
        done[start : start + used] = good


def best_trees(
    first, last, lanes, scores, lengths, single_root, best, heads, charts, spread, vectors, sums,
    flags, stack, state,
):  # fmt: skip
    """Eisner's algorithm: ``best`` (batch,) scores, -inf without a tree, and ``heads``."""
    for start, used, good in _groups(first, last, lanes, lengths, flags):
        best_of_group(
            start, used, scores, lengths, single_root, sums[0], heads, good, charts, spread,
            vectors, stack, state,
        )
        best[start : start + used] = sums[0, :used]


def best_of_group(
    start, used, scores, lengths, single_root, highest, heads, good, charts, spread, vectors, stack,
    state,
):  # fmt: skip
    """The best trees of ``used`` sentences from ``start`` on, in the charts' precision.

    Args:
        highest: (lanes,) their scores.
        heads: (batch, n) the trees, where there is one, and ``good`` (used,) says where.
    """
    lowest = np.float64(-np.inf)
    n = projective_kernels.load(
        scores, lengths, start, used, lowest, spread, vectors[ROOT_WEIGHT]
    )
    eisner_kernels.inside_maximum(
        n, used, spread, single_root, lengths, start, charts, vectors, highest
    )
    np.greater(highest[:used], lowest, out=good)
    eisner_kernels.read_trees(
        used, single_root, lengths, start, good, charts, vectors, lengths, state, stack, heads[None]
    )


def samples(
    first, last, lanes, weights, lengths, single_root, seeds, heads, done, charts, spread, vectors,
    sums, flags, stack, state,
):  # fmt: skip
    """Exact samples, ``heads`` (count, batch, n), drawn from ``seeds`` (batch,)."""
    for start, used, good in _groups(first, last, lanes, lengths, flags):
        _inside(weights, lengths, single_root, start, used, charts, spread, vectors, sums, good)
        eisner_kernels.read_trees(
            used, single_root, lengths, start, good, charts, vectors, seeds, state, stack, heads
        )
        done[start : start + used] = good


def _groups(first, last, lanes, lengths, flags):
    """The groups' first sentences, how many each has, and flags that are set for these."""
    for start in range(first * lanes, min(last * lanes, len(lengths)), lanes):
        used = min(lanes, len(lengths) - start)
        flags[:used] = True
        yield start, used, flags[:used]


def _inside(weights, lengths, single_root, start, used, charts, spread, vectors, sums, good):
    """Charts, ``sums[0]`` and whether they are ``good``; the longest sentence's length."""
    partition, roots = sums[0], vectors[ROOT_WEIGHT]
    n = projective_kernels.load(weights, lengths, start, used, np.float64(0.0), spread, roots)
    projective_kernels.inside(
        n, used, spread, single_root, lengths, start, charts, vectors, partition
    )
    projective_kernels.within_range(n, used, charts, lengths, start, good)
    good &= (partition[:used] > 0.0) & (partition[:used] < LARGEST)
    return n
