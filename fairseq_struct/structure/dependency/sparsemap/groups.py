"""Compiled SparseMAP, and its faces, for groups of sentences that go side by side.

As in ``projective.groups``, kernels are called one after the other, so that each is compiled once.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.compiled import Space
from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import (
    Contraction,
    best_trees,
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
from fairseq_struct.structure.dependency.sparsemap.pursuit_kernels import Lanes, Problem, Search


class Eisner(NamedTuple):
    """What best projective trees are found in: see ``projective.groups.best_of_group``."""

    chart: Chart
    arcs: np.ndarray
    reading: Reading


class Work(NamedTuple):
    """Arrays to work in.

    Args:
        lanes: the sentences that are not done.
        eisner: where best projective trees are found.
        contraction: where others are.
    """

    lanes: Lanes
    eisner: Eisner
    contraction: Contraction


def _eisner_space(n: int, block: int, dtype: type) -> Eisner:
    return Eisner(chart_space(n, block, dtype), arcs_space(n, block, dtype), reading_space(n))


def _work_space(n: int, block: int) -> Work:
    places, flags = Space((block,), np.int64), Space((block,), np.bool_)
    scores, heads = Space((block, n, n)), Space((block, n), np.int64)
    lanes = Lanes(places, places, scores, Space((block,)), flags, heads)
    return Work(lanes, _eisner_space(n, block, np.float64), contraction_space(n))


def spaces_of_sparsemap(n: int, block: int) -> tuple[Work, Eisner]:
    """What :func:`sparsemap` works in, for sentences of up to n words."""
    return _work_space(n, block), _eisner_space(n, block, np.float32)


def spaces_of_faces(n: int, block: int) -> tuple[Work, Nudges]:
    """What :func:`complete_faces` works in, for sentences of up to n words."""
    square, flags, states = Space((block, n, n)), Space((block,), np.bool_), (block, 1)
    nudges = Nudges(square, square, Space((block,)), flags, flags, Space(states, np.uint64))
    return _work_space(n, block), nudges


def sparsemap(
    first, last, block, room, rows, sets, algebra, work, rough_eisner, *,
    projective, single_root, tolerance,
):  # fmt: skip
    """SparseMAP of sentences ``first * block`` .. ``last * block - 1``.

    Projective trees are first looked for in float32, which is faster; the last ones, and with
    them the gaps, come from a search in float64.

    Args:
        room: (batch,) most trees at hand, and (batch,) whether the search ended for want of room.
        rows: (batch, n, n) scores, every word's shifted by their maximum; (batch,) lengths; and
            most trees to ask for, gaps, and trees asked for, as :class:`.Search` has them.
        sets: the trees and weights to begin with, and the results.
        algebra, work, rough_eisner: to work in.
    """
    scores, lengths, *limits = rows
    problem, search = Problem(scores, lengths, single_root), Search(*room, *limits, tolerance)
    kernels, lanes = pursuit_kernels, work.lanes
    for start, count, part in _blocks(first, last, block, len(lengths)):
        search.gaps[part] = np.inf
        if sets.sizes[part].any():
            kernels.factorise_all(start, count, lengths, sets, algebra)
            waiting = _put(lanes, sets.sizes[part] > 0)
            kernels.renew(start, waiting, lanes, problem, sets, algebra, False)
            kernels.pulls_of(start, waiting, lanes, sets, algebra)
            kernels.renew(start, waiting, lanes, problem, sets, algebra, True)
        for rough in (True, False) if projective else (False,):
            left = ~search.full[part]
            if rough:
                left &= search.steps[part] + 1 < search.most_steps[part]
            waiting, added = _put(lanes, left), False
            eisner = (rough_eisner if rough else work.eisner) if projective else None
            while waiting > 0:
                kernels.renew(start, waiting, lanes, problem, sets, algebra, added)
                _best_trees(waiting, lanes, single_root, eisner, work.contraction)
                waiting = kernels.extend(start, waiting, lanes, search, sets, algebra, rough)
                added = True


def complete_faces(
    first, last, block, room, rows, sets, algebra, work, nudges, *, projective, single_root
):
    """Add trees of weight 0 to sentences ``first * block`` .. until their faces are complete.

    Args:
        room: (batch,) most trees, and (batch,) whether the search ended for want of room.
        rows: (batch, n, n) scores and (batch,) lengths.
        sets: the solution, and room for more trees.
        algebra, work, nudges: to work in.
    """
    _, lengths = rows
    problem, lanes, eisner = Problem(*rows, single_root), work.lanes, work.eisner
    for start, count, _ in _blocks(first, last, block, len(lengths)):
        pursuit_kernels.factorise_all(start, count, lengths, sets, algebra)
        waiting = _put(lanes, np.ones(count, np.bool_))
        own = lanes._replace(scores=nudges.residuals)
        pursuit_kernels.renew(start, waiting, own, problem, sets, algebra, False)
        nudges.sizes[:], nudges.due[:] = 0.0, True
        while waiting > 0:
            face_kernels.nudge(start, waiting, lanes, lengths, sets, algebra, nudges)
            _best_trees(
                waiting, lanes, single_root, eisner if projective else None, work.contraction
            )
            waiting = face_kernels.extend(start, waiting, lanes, *room, sets, algebra, nudges)


def _blocks(first, last, block, batch):
    """Every block's first sentence, how many it has, and where they are."""
    for start in range(first * block, min(last * block, batch), block):
        count = min(block, batch - start)
        yield start, count, slice(start, start + count)


def _put(lanes, left):
    """Let the first lanes be for the places that are ``left``; how many there are."""
    waiting = left.nonzero()[0]
    lanes.places[: len(waiting)] = waiting
    return len(waiting)


def _best_trees(waiting, lanes, single_root, eisner, contraction):
    """The best trees of the first ``waiting`` lanes: projective ones, if there is ``eisner``."""
    _, lengths, scores, best, found, heads = lanes
    if eisner is not None:
        sentences = Sentences(scores, lengths, single_root)
        best_of_group(0, waiting, sentences, best, heads, found[:waiting], *eisner)
    else:
        best_trees(0, waiting, scores, lengths, single_root, best, heads, contraction)
