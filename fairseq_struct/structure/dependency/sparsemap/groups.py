"""Compiled SparseMAP and its faces, for groups of sentences processed in parallel lanes.

As in ``projective.groups``, Python calls one kernel after the other, so each is compiled once.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.dependency.nonprojective import spanning_tree_kernels as all_trees
from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import (
    Contraction,
    contraction_space,
)
from fairseq_struct.structure.dependency.projective.groups import (
    Chart,
    Reading,
    Sentences,
    arcs_space,
    best_of_group,
    chart_space,
    reading_space,
)
from fairseq_struct.structure.dependency.sparsemap import face_kernels, pursuit_kernels
from fairseq_struct.structure.dependency.sparsemap.face_kernels import Nudges
from fairseq_struct.structure.dependency.sparsemap.pursuit_kernels import Lanes, Search
from fairseq_struct.structure.kernels.compiled import Space


class Eisner(NamedTuple):
    """Work arrays for best projective trees: see ``projective.groups.best_of_group``."""

    chart: Chart
    arcs: np.ndarray
    reading: Reading


class Work(NamedTuple):
    """Work arrays.

    Args:
        lanes: the sentences that are not done.
        found: (block,) whether they have a best tree.
        eisner: for best projective trees.
        contraction: for best trees with or without crossing arcs.
    """

    lanes: Lanes
    found: np.ndarray
    eisner: Eisner
    contraction: Contraction


def _eisner_space(n: int, block: int, dtype: type) -> Eisner:
    return Eisner(chart_space(n, block, dtype), arcs_space(n, block, dtype), reading_space(n))


def _work_space(n: int, block: int) -> Work:
    places, flags = Space((block,), np.int64), Space((block,), np.bool_)
    scores, heads = Space((block, n, n)), Space((block, n), np.int64)
    lanes = Lanes(places, places, scores, Space((block,)), heads)
    return Work(lanes, flags, _eisner_space(n, block, np.float64), contraction_space(n))


def spaces_of_sparsemap(n: int, block: int) -> tuple[Work, Eisner]:
    """Work arrays of :func:`sparsemap`, for sentences of up to n words."""
    return _work_space(n, block), _eisner_space(n, block, np.float32)


def spaces_of_faces(n: int, block: int) -> tuple[Work, Nudges]:
    """Work arrays of :func:`complete_faces`, for sentences of up to n words."""
    square, flags, states = Space((block, n, n)), Space((block,), np.bool_), (block, 1)
    nudges = Nudges(square, square, Space((block,)), flags, flags, Space(states, np.uint64))
    return _work_space(n, block), nudges


def sparsemap(
    first, last, block, room, rows, sets, algebra, work, rough_eisner, *,
    projective, single_root, tolerance,
):  # fmt: skip
    """SparseMAP of sentences ``first * block`` .. ``last * block - 1``.

    The search for projective trees starts in float32, which is faster. It ends in float64: the
    last trees, and with them the gaps, come from there.

    Args:
        room: (batch,) capacity for trees, and (batch,) whether the search ended for lack of room.
        rows: (batch, n, n) scores, every word's shifted by their maximum; (batch,) lengths; and
            ``most_steps``, ``gaps`` and ``steps`` of :class:`.Search`.
        sets: the trees and weights to start from; replaced by the results.
        algebra, work, rough_eisner: work arrays.
    """
    scores, lengths, *limits = rows
    search = Search(*room, *limits, tolerance)
    kernels, sizes, places = pursuit_kernels, sets.sizes, work.lanes.places
    problem = scores, lengths, single_root
    lanes, sets, algebra, bare_search = map(tuple, (work.lanes, sets, algebra, search))
    for start, count, part in _blocks(first, last, block, len(lengths)):
        search.gaps[part] = np.inf
        if sizes[part].any():
            kernels.factorise_all(start, count, lengths, sets, algebra)
            waiting = _put(places, sizes[part] > 0)
            kernels.renew(start, waiting, lanes, problem, sets, algebra, False)
            kernels.pulls_of(start, waiting, lanes, sets, algebra)
            kernels.renew(start, waiting, lanes, problem, sets, algebra, True)
        for rough in (True, False) if projective else (False,):
            left = ~search.full[part]
            if rough:
                left &= search.steps[part] + 1 < search.most_steps[part]
            waiting, added = _put(places, left), False
            best_trees = _best_trees(work, single_root, projective, rough_eisner if rough else None)
            while waiting > 0:
                kernels.renew(start, waiting, lanes, problem, sets, algebra, added)
                best_trees(waiting)
                waiting = kernels.extend(start, waiting, lanes, bare_search, sets, algebra, rough)
                added = True


def complete_faces(
    first, last, block, room, rows, sets, algebra, work, nudges, *, projective, single_root
):
    """Add trees of weight 0 to sentences ``first * block`` .. until their faces are complete.

    Args:
        room: (batch,) capacity for trees, and (batch,) whether the search ended for lack of room.
        rows: (batch, n, n) scores and (batch,) lengths.
        sets: the solution, with room for more trees.
        algebra, work, nudges: work arrays.
    """
    _, lengths = rows
    problem, places = (*rows, single_root), work.lanes.places
    at_mu = tuple(work.lanes._replace(scores=nudges.residuals))
    lanes, sets, algebra, bare_nudges = map(tuple, (work.lanes, sets, algebra, nudges))
    best_trees = _best_trees(work, single_root, projective)
    for start, count, _ in _blocks(first, last, block, len(lengths)):
        pursuit_kernels.factorise_all(start, count, lengths, sets, algebra)
        waiting = _put(places, np.ones(count, np.bool_))
        pursuit_kernels.renew(start, waiting, at_mu, problem, sets, algebra, False)
        nudges.amounts[:], nudges.due[:] = 0.0, True
        given = lanes, lengths, room, sets, algebra, bare_nudges
        waiting = face_kernels.nudge(start, waiting, False, *given)
        while waiting > 0:
            best_trees(waiting)
            waiting = face_kernels.nudge(start, waiting, True, *given)


def _blocks(first, last, block, batch):
    """For every block: its first sentence, its number of sentences, and their slice."""
    for start in range(first * block, min(last * block, batch), block):
        count = min(block, batch - start)
        yield start, count, slice(start, start + count)


def _put(places, left):
    """Assign the first lanes to the places marked in ``left``; return their number."""
    waiting = left.nonzero()[0]
    places[: len(waiting)] = waiting
    return len(waiting)


def _best_trees(work, single_root, projective, rough_eisner=None):
    """A function that finds the best trees of the first ``waiting`` lanes."""
    (_, lengths, scores, best, heads), found = work.lanes, work.found
    if not projective:
        contraction = tuple(work.contraction)
        return lambda waiting: all_trees.best_trees(
            0, waiting, scores, lengths, single_root, best, heads, contraction
        )
    sentences, eisner = Sentences(scores, lengths, single_root), rough_eisner or work.eisner
    return lambda waiting: best_of_group(
        0, waiting, sentences, best, heads, found[:waiting], *eisner
    )
