"""Compiled inference over projective trees, for groups of sentences that share a chart.

The kernels that a verb needs are called one after the other, each with results of the last one: a
verb compiles what it calls, and what several verbs call is compiled once. Every function here runs
over groups ``first`` .. ``last - 1`` of ``lanes`` sentences; what it takes last is to work in (see
``inference._run``).
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.compiled import Space
from fairseq_struct.structure.dependency.projective import (
    eisner_kernels,
    inside_outside_kernels,
    tangent_kernels,
)
from fairseq_struct.structure.dependency.projective.inside_outside_kernels import (
    LARGEST,
    ROOT_WEIGHT,
)


class Sentences(NamedTuple):
    """What inference is about.

    Args:
        values: (batch, n, n) scores of arcs, or exp of shifted ones.
        lengths: (batch,).
        single_root: whether the root has exactly one modifier.
    """

    values: np.ndarray
    lengths: np.ndarray
    single_root: bool


class Chart(NamedTuple):
    """Entries of a chart, or derivatives by them (see ``inside_outside_kernels``).

    Args:
        spans: (4, n, n * lanes).
        root: (3, n + 2, lanes).
    """

    spans: np.ndarray
    root: np.ndarray


class Reading(NamedTuple):
    """What trees are read off a chart with.

    Args:
        stack: (3 * n + 3, 3).
        state: (1,) of the random numbers; (0,) for best trees.
    """

    stack: np.ndarray
    state: np.ndarray


class Work(NamedTuple):
    """Arrays to work in.

    Args:
        charts: as many as the verb needs.
        arcs: (2, n, n * lanes) values of arcs, spread out; one for every pair of charts.
        sums: (2, lanes).
        flags: (lanes,).
        reading: for verbs that read trees.
    """

    charts: tuple[Chart, ...]
    arcs: tuple[np.ndarray, ...]
    sums: np.ndarray
    flags: np.ndarray
    reading: Reading


def chart_space(n: int, lanes: int, dtype: type = np.float64) -> Chart:
    """The room of a :class:`Chart`."""
    return Chart(Space((4, n, n * lanes), dtype), Space((3, n + 2, lanes), dtype))


def arcs_space(n: int, lanes: int, dtype: type = np.float64) -> Space:
    """The room of values of arcs, spread out."""
    return Space((2, n, n * lanes), dtype)


def reading_space(n: int, states: int = 0) -> Reading:
    """The room of a :class:`Reading`."""
    return Reading(Space((3 * n + 3, 3), np.int64), Space((states,), np.uint64))


def log_partition_and_marginals(
    first, last, lanes, sentences, want_marginals, log_partition, marginals, done, work
):
    """Inside and outside algorithm.

    Args:
        sentences: with exp of shifted scores.
        log_partition, marginals, done: results; ``done`` says where they are exact.
    """
    (inner, outer), lengths, partition = work.charts, sentences.lengths, work.sums[0]
    kernels = inside_outside_kernels
    for start, used, good in _groups(first, last, lanes, lengths, work.flags):
        part = slice(start, start + used)
        n = _inside(sentences, start, used, work, good)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_partition[part] = np.log(partition[:used])
        if want_marginals:
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
        # The products' place serves for the marginals until they have been looked at.
        plain.unload_marginals(n, used, lengths, start, *inner, *outer, products, good)
        kernels.unload(
            n, used, lengths, start, spans, roots, by_spans, by_roots, partition, products, good
        )
        done[start : start + used] = good


def best_trees(first, last, lanes, sentences, best, heads, work):
    """Eisner's algorithm: ``best`` (batch,) scores, -inf without a tree, and ``heads``."""
    (chart,), (arcs,), highest = work.charts, work.arcs, work.sums[0]
    for start, used, good in _groups(first, last, lanes, sentences.lengths, work.flags):
        best_of_group(start, used, sentences, highest, heads, good, chart, arcs, work.reading)
        best[start : start + used] = highest[:used]


def best_of_group(start, used, sentences, highest, heads, good, chart, arcs, reading):
    """The best trees of ``used`` sentences from ``start`` on, in the chart's precision.

    Args:
        highest: (lanes,) their scores.
        heads: (batch, n) the trees, where there is one, and ``good`` (used,) says where.
        chart, arcs, reading: to work in.
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
    """Exact samples, ``heads`` (count, batch, n), drawn from ``seeds`` (batch,)."""
    (chart,), (stack, state), (_, lengths, single_root) = work.charts, work.reading, sentences
    for start, used, good in _groups(first, last, lanes, lengths, work.flags):
        _inside(sentences, start, used, work, good)
        eisner_kernels.read_trees(
            used, single_root, lengths, start, good, *chart, seeds, state, stack, heads
        )
        done[start : start + used] = good


def _groups(first, last, lanes, lengths, flags):
    """The groups' first sentences, how many each has, and flags that are set for these."""
    for start in range(first * lanes, min(last * lanes, len(lengths)), lanes):
        used = min(lanes, len(lengths) - start)
        flags[:used] = True
        yield start, used, flags[:used]


def _inside(sentences, start, used, work, good):
    """First chart, ``sums[0]`` and whether they are ``good``; the longest sentence's length."""
    (weights, lengths, single_root), kernels = sentences, inside_outside_kernels
    chart, arcs, partition = work.charts[0], work.arcs[0], work.sums[0]
    root = chart.root[ROOT_WEIGHT]
    n = kernels.load(weights, lengths, start, used, np.float64(0.0), arcs, root)
    kernels.inside(n, used, arcs, single_root, lengths, start, *chart, partition)
    kernels.within_range(n, used, chart.spans, lengths, start, good)
    good &= (partition[:used] > 0.0) & (partition[:used] < LARGEST)
    return n
