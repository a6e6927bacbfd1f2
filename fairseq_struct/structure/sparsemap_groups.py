"""Compiled SparseMAP for groups of sentences that go side by side.

As in ``projective_groups``, kernels are called one after the other, so that each is compiled once.
"""

import numpy as np

from fairseq_struct.structure import sparsemap_kernels


def sparsemap(
    first, last, block, scores, lengths, rooms, most_steps, gaps, steps, projective, single_root,
    tolerance, trees, alpha, sizes, full, factors, numbers, residuals, own, highest, heads, stack,
    state, score, arcs, nodes, charts, spread, vectors, rough_charts, rough_spread, rough_vectors,
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
    batch, unfinished = len(scores), own[1]
    for start in range(first * block, min(last * block, batch), block):
        count = min(block, batch - start)
        part = slice(start, start + count)
        sparsemap_kernels.begin(
            start, count, scores, lengths, single_root, trees, alpha, sizes, gaps, factors, numbers,
            residuals,
        )
        for rough in (True, False) if projective else (False,):
            left = ~full[part]
            if rough:
                left &= steps[part] + 1 < most_steps[part]
            waiting = np.flatnonzero(left)
            unfinished[: len(waiting)] = waiting
            sparsemap_kernels.pursue(
                start, len(waiting), unfinished, scores, lengths, rooms, projective, single_root,
                most_steps, tolerance, trees, alpha, sizes, gaps, steps, full, factors, numbers,
                residuals, own[0], highest, heads, (stack, state), (charts, spread, vectors),
                (rough_charts, rough_spread, rough_vectors), (score, arcs, nodes), rough,
            )
