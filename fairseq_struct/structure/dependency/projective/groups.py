"""Compiled inference over projective trees, for groups of sentences that share a chart.

Python calls the kernels of an operation one after the other, each with the results of the last.
So an operation compiles only the kernels that it calls, and a kernel shared by several operations
is compiled once. Every function here runs over groups ``first`` .. ``last - 1`` of ``lanes``
sentences. Its last argument holds work arrays (see ``inference._run``).
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.dependency.projective import (
    eisner_kernels,
    inside_outside_kernels,
    tangent_kernels,
)
from fairseq_struct.structure.dependency.projective.inside_outside_kernels import (
    LARGEST,
    ROOT_WEIGHT,
)
from fairseq_struct.structure.kernels.compiled import Space

# With weights of at most 1, nothing that counts is below the range of float64 if the sum over
# trees is larger. Otherwise the marginals tell.
SURE = 1e-130


class Sentences(NamedTuple):
    """The input of inference.

    Args:
        values: (batch, n, n) scores of arcs, or exp of shifted scores.
        lengths: (batch,).
        single_root: whether the root has exactly one modifier.
    """

    values: np.ndarray
    lengths: np.ndarray
    single_root: bool


class Chart(NamedTuple):
    """Entries of a chart, or derivatives with respect to them (see ``inside_outside_kernels``).

    Args:
        spans: (4, n, n * lanes).
        root: (3, n + 2, lanes).
    """

    spans: np.ndarray
    root: np.ndarray


class Reading(NamedTuple):
    """Work arrays to read trees off a chart.

    Args:
        stack: (3 * n + 3, 3).
        state: (1,) state of the random numbers; (0,) for best trees.
    """

    stack: np.ndarray
    state: np.ndarray


class Work(NamedTuple):
    """Work arrays.

    Args:
        charts: as many as the operation needs.
        arcs: (2, n, n * lanes) values of arcs in the chart's layout; one for every pair of charts.
        sums: (2, lanes).
        flags: (lanes,).
        reading: for operations that read trees.
    """

    charts: tuple[Chart, ...]
    arcs: tuple[np.ndarray, ...]
    sums: np.ndarray
    flags: np.ndarray
    reading: Reading


def chart_space(n: int, lanes: int, dtype: type = np.float64) -> Chart:
    """Sizes of a :class:`Chart`."""
    return Chart(Space((4, n, n * lanes), dtype), Space((3, n + 2, lanes), dtype))


def arcs_space(n: int, lanes: int, dtype: type = np.float64) -> Space:
    """Size of the values of arcs, in the chart's layout."""
    return Space((2, n, n * lanes), dtype)


def reading_space(n: int, states: int = 0) -> Reading:
    """Sizes of a :class:`Reading`."""
    return Reading(Space((3 * n + 3, 3), np.int64), Space((states,), np.uint64))


def log_partition_and_marginals(
    first, last, lanes, sentences, want_marginals, log_partition, marginals, done, work
):
    """Inside and outside algorithm.

    Args:
        sentences: with exp of shifted scores.
        want_marginals: whether to compute the marginals also where nothing but the log-partition
            function needs them; their sums tell whether it is exact.
        log_partition, marginals, done: results; ``done`` says where they are exact.
    """
    (inner, outer), lengths, partition = work.charts, sentences.lengths, work.sums[0]
    kernels = inside_outside_kernels
    for start, used, good in _groups(first, last, lanes, lengths, work.flags):
        part = slice(start, start + used)
        n = _inside(sentences, start, used, work, good)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_partition[part] = np.log(partition[:used])
        if want_marginals or (partition[:used] < SURE).any():
            kernels.outside_of_root(
                n, used, sentences.single_root, lengths, start, *inner, partition, *outer
            )
            kernels.outside(n, used, work.arcs[0], inner.spans, outer.spans)
            kernels.within_range(n, used, outer.spans, lengths, start, good)
            kernels.unload_marginals(n, used, lengths, start, *inner, *outer, marginals, good)
        done[part] = good


def hessian_products(first, last, lanes, sentences, tangents, products, done, work):
    """Hessian of the log-partition function times a direction.

    Args:
        sentences: with weights, exp of shifted scores.
        tangents: (batch, n, n) weights times direction.
        products, done: results; ``done`` says where they are exact.
    """
    (inner, dinner, outer, douter), partition = work.charts, (work.sums[0], work.sums[1])
    spans, roots = (inner.spans, dinner.spans), (inner.root, dinner.root)
    by_spans, by_roots = (outer.spans, douter.spans), (outer.root, douter.root)
    (weights, lengths, single_root), zero = sentences, np.float64(0.0)
    plain, kernels = inside_outside_kernels, tangent_kernels
    for start, used, good in _groups(first, last, lanes, lengths, work.flags):
        for values, where, root in zip((weights, tangents), work.arcs, roots, strict=True):
            n = plain.load(values, lengths, start, used, zero, where, root[ROOT_WEIGHT])
        group = n, used, single_root, lengths, start, spans, roots, partition
        kernels.inside(n, used, work.arcs, spans)
        kernels.inside_of_root(*group)
        kernels.outside_of_root(*group, by_spans, by_roots)
        kernels.outside(n, used, work.arcs, spans, by_spans)
        for chart in (inner, outer):
            plain.within_range(n, used, chart.spans, lengths, start, good)
        # The array for the products holds the marginals until they are checked.
        plain.unload_marginals(n, used, lengths, start, *inner, *outer, products, good)
        kernels.unload(
            n, used, lengths, start, spans, roots, by_spans, by_roots, partition, products, good
        )
        done[start : start + used] = good


def best_trees(first, last, lanes, sentences, best, heads, work):
    """Eisner's algorithm: writes ``best`` (batch,) scores, -inf without a tree, and ``heads``."""
    (chart,), (arcs,), highest = work.charts, work.arcs, work.sums[0]
    for start, used, good in _groups(first, last, lanes, sentences.lengths, work.flags):
        best_of_group(start, used, sentences, highest, heads, good, chart, arcs, work.reading)
        best[start : start + used] = highest[:used]


def best_of_group(start, used, sentences, highest, heads, good, chart, arcs, reading):
    """The best trees of ``used`` sentences from ``start`` on, in the chart's precision.

    Args:
        highest: (lanes,) scores of the trees.
        heads: (batch, n) the trees, written where there is one.
        good: (used,) whether there is a tree.
        chart, arcs, reading: work arrays.
    """
    (scores, lengths, single_root), lowest = sentences, np.float64(-np.inf)
    n = inside_outside_kernels.load(
        scores, lengths, start, used, lowest, arcs, chart.root[ROOT_WEIGHT]
    )
    eisner_kernels.inside_maximum(
        n, used, arcs, single_root, lengths, start, *chart, highest
    )
    np.greater(highest[:used], lowest, out=good)
    stack, state = reading
    eisner_kernels.read_trees(
        used, single_root, lengths, start, good, *chart, lengths, state, stack, heads[None]
    )


def samples(first, last, lanes, sentences, seeds, heads, done, work):
    """Exact samples, ``heads`` (count, batch, n), drawn from ``seeds`` (batch,).

    ``done`` says where they are exact if no weight is above 1.
    """
    (chart,), (stack, state), (_, lengths, single_root) = work.charts, work.reading, sentences
    for start, used, good in _groups(first, last, lanes, lengths, work.flags):
        _inside(sentences, start, used, work, good)
        good &= work.sums[0][:used] > SURE
        eisner_kernels.read_trees(
            used, single_root, lengths, start, good, *chart, seeds, state, stack, heads
        )
        done[start : start + used] = good


def _groups(first, last, lanes, lengths, flags):
    """For every group: its first sentence, its number of sentences, and their flags, all set."""
    for start in range(first * lanes, min(last * lanes, len(lengths)), lanes):
        used = min(lanes, len(lengths) - start)
        flags[:used] = True
        yield start, used, flags[:used]


def _inside(sentences, start, used, work, good):
    """Fill the first chart, ``sums[0]`` and ``good``; return the longest sentence's length."""
    (weights, lengths, single_root), kernels = sentences, inside_outside_kernels
    chart, arcs, partition = work.charts[0], work.arcs[0], work.sums[0]
    root = chart.root[ROOT_WEIGHT]
    n = kernels.load(weights, lengths, start, used, np.float64(0.0), arcs, root)
    kernels.inside(n, used, arcs, single_root, lengths, start, *chart, partition)
    kernels.within_range(n, used, chart.spans, lengths, start, good)
    good &= (partition[:used] > 0.0) & (partition[:used] < LARGEST)
    return n
