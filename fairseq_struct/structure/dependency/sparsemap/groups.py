"""Compiled SparseMAP, and its faces, for groups of sentences that go side by side.

As in ``projective_groups``, kernels are called one after the other, so that each is compiled once.
"""

import numpy as np

from fairseq_struct.structure.dependency.nonprojective.spanning_tree_kernels import best_trees
from fairseq_struct.structure.dependency.projective.groups import best_of_group
from fairseq_struct.structure.dependency.sparsemap import face_kernels
from fairseq_struct.structure.dependency.sparsemap import pursuit_kernels as sparsemap_kernels


def sparsemap(
    first, last, block, scores, lengths, rooms, most_steps, gaps, steps, projective, single_root,
    tolerance, trees, alpha, sizes, full, factors, numbers, residuals, places, highest, found,
    heads, stack, no_state, score, arcs, nodes, active, charts, spread, vectors, rough_charts,
    rough_spread, rough_vectors,
):  # fmt: skip
    """SparseMAP of sentences ``first * block`` .. ``last * block - 1``.

    Projective trees are first looked for in float32, which is faster; the last ones, and with
    them the gaps, come from a search in float64.

    Args:
        scores: (batch, n, n), every word's shifted by their maximum.
        rooms: (batch,) most trees at hand.
        most_steps: (batch,) most trees to ask for.
        gaps: (batch,) gaps at the end; infinite where there is no tree.
        steps: (batch,) trees asked for.
        tolerance: gap at which to stop.
        trees, alpha, sizes: (batch, most, n), (batch, most), (batch,): the trees and weights to
            begin with, and the results.
        full: (batch,) whether the search ended for want of room.
        factors and so on: arrays to work in, see ``active_set.search`` and ``sparsemap``.
    """
    kernels, (own, unfinished) = sparsemap_kernels, places
    work, ones, pulls = numbers[0], numbers[1], numbers[2:]
    problem, sets = (scores, lengths, single_root), (trees, alpha, sizes)
    spaces = pulls, factors, residuals, own, work, ones
    exactly, roughly = (charts, spread, vectors), (rough_charts, rough_spread, rough_vectors)
    for start, count, part in _blocks(first, last, block, len(scores)):
        gaps[part] = np.inf
        if sizes[part].any():
            kernels.factorise_all(start, count, lengths, *sets, factors, work)
            waiting = _put(unfinished, sizes[part] > 0)
            kernels.renew(start, waiting, unfinished, *problem, *sets, *spaces, False)
            kernels.pulls_of(start, waiting, unfinished, residuals, lengths, trees, sizes, pulls)
            kernels.renew(start, waiting, unfinished, *problem, *sets, *spaces, True)
        for rough in (True, False) if projective else (False,):
            left = ~full[part]
            if rough:
                left &= steps[part] + 1 < most_steps[part]
            waiting, added = _put(unfinished, left), False
            while waiting > 0:
                kernels.renew(start, waiting, unfinished, *problem, *sets, *spaces, added)
                _best_trees(
                    waiting, residuals, own, projective, single_root, highest, found, heads,
                    (stack, no_state), roughly if rough else exactly,
                    (score, arcs, nodes, active),
                )  # fmt: skip
                waiting = kernels.extend(
                    start, waiting, unfinished, rooms, most_steps, tolerance, *sets, gaps, steps,
                    full, factors, pulls, work, residuals, own, highest, heads, rough,
                )  # fmt: skip
                added = True


def complete_faces(
    first, last, block, scores, lengths, rooms, projective, single_root, trees, alpha, sizes, full,
    factors, numbers, residuals, directions, nudged, nudges, flags, states, places, highest, found,
    heads, stack, no_state, score, arcs, nodes, active, charts, spread, vectors,
):  # fmt: skip
    """Add trees of weight 0 to sentences ``first * block`` .. until their faces are complete.

    Args:
        scores: (batch, n, n).
        rooms: (batch,) most trees.
        trees, alpha: (batch, most, n) and (batch, most): the solution and room for more.
        sizes: (batch,) number of trees, also as a result.
        full: (batch,) whether the search ended for want of room.
        factors, numbers: see ``active_set.search``.
        residuals, directions, nudged: (block, n, n), nudges: (block,), flags: (2, block), and
            states: (block, 1), to work in; those that follow, see ``active_set.search_spaces``.
    """
    kernels, (own, unfinished), (fresh, due) = face_kernels, places, flags
    work, amounts = numbers[0], numbers[1]
    for start, count, _ in _blocks(first, last, block, len(scores)):
        sparsemap_kernels.factorise_all(start, count, lengths, trees, alpha, sizes, factors, work)
        waiting = _put(unfinished, np.ones(count, np.bool_))
        sparsemap_kernels.renew(
            start, waiting, unfinished, scores, lengths, single_root, trees, alpha, sizes,
            numbers[2:], factors, residuals, own, work, amounts, False,
        )  # fmt: skip
        nudges[:], due[:] = 0.0, True
        while waiting > 0:
            kernels.nudge(
                start, waiting, unfinished, lengths, residuals, trees, sizes, factors, directions,
                nudges, fresh, due, states, amounts, nudged, own,
            )  # fmt: skip
            _best_trees(
                waiting, nudged, own, projective, single_root, highest, found, heads,
                (stack, no_state), (charts, spread, vectors), (score, arcs, nodes, active),
            )  # fmt: skip
            waiting = kernels.extend(
                start, waiting, unfinished, rooms, trees, alpha, sizes, full, factors, directions,
                nudges, fresh, due, own, heads, amounts, work,
            )  # fmt: skip


def _blocks(first, last, block, batch):
    """Every block's first sentence, how many it has, and where they are."""
    for start in range(first * block, min(last * block, batch), block):
        count = min(block, batch - start)
        yield start, count, slice(start, start + count)


def _put(unfinished, left):
    """Put the places that are ``left`` to the beginning of ``unfinished``; how many there are."""
    waiting = left.nonzero()[0]
    unfinished[: len(waiting)] = waiting
    return len(waiting)


def _best_trees(
    waiting, residuals, own, projective, single_root, highest, found, heads, reading, eisner, search
):
    """``heads`` and scores, ``highest``, of the best trees of the first ``waiting`` residuals."""
    if projective:
        charts, spread, vectors = eisner
        stack, no_state = reading
        best_of_group(
            0, waiting, residuals, own, single_root, highest, heads, found[:waiting], charts,
            spread, vectors, stack, no_state,
        )  # fmt: skip
    else:
        best_trees(0, waiting, residuals, own, single_root, highest, heads, *search)
