"""Compiled exact samples of all dependency trees, by Wilson's algorithm (1996).

A random walk starts at every word that is not in the tree yet. It goes from head to head until it
meets the tree. Without its loops, the walk becomes a branch.
"""

from typing import NamedTuple

import numpy as np

from fairseq_struct.structure.kernels.compiled import Space, compiled, inner
from fairseq_struct.structure.kernels.random_kernels import uniform


class Walks(NamedTuple):
    """Work arrays for drawing a tree.

    Args:
        total: (n,) sums of the weights of a word's heads.
        chosen: (n,) the last step of walks from each word; n for the root.
        inside: (n + 1,) whether a word, or the root, is in the tree.
        state: (1,) state of the random numbers.
    """

    total: np.ndarray
    chosen: np.ndarray
    inside: np.ndarray
    state: np.ndarray


def walks_space(n: int) -> Walks:
    """Sizes of the work arrays of :class:`Walks`."""
    return Walks(
        Space((n,)), Space((n,), np.int64), Space((n + 1,), np.bool_), Space((1,), np.uint64)
    )


@inner
def _step(weights, m, n, root_allowed, walks):
    """A head for word m, drawn by weight: a word's number, or n for the root."""
    left = uniform(walks.state) * walks.total[m]
    chosen = -1
    for h in range(n):
        weight = weights[h, m] if h != m or root_allowed else 0.0
        if weight > 0.0:
            chosen = n if h == m else h
            left -= weight
            if left < 0.0:
                break
    return chosen


@inner
def _draw_top(marginals, n, state):
    """The root's only modifier, drawn from its marginals (n,)."""
    left, top = uniform(state), -1
    for m in range(n):
        if marginals[m] > 0.0:
            top = m
            left -= marginals[m]
            if left < 0.0:
                break
    return top


@inner
def _given_up(n, top, heads):
    """Write -1 to ``heads`` (n,), but the root's only modifier stays. Returns False."""
    for m in range(n):
        heads[m] = 0 if m == top else -1
    return False


@inner
def _draw(weights, n, single_root, root_marginals, most_steps, heads, walks):
    """Write a tree to ``heads`` (n,); return whether it took fewer than ``most_steps``."""
    inside, chosen, steps, top = walks.inside, walks.chosen, 0, -1
    for m in range(n):
        inside[m] = False
    inside[n] = True
    if single_root:
        top = _draw_top(root_marginals, n, walks.state)
        inside[top] = True
        heads[top] = 0
    for begin in range(n):
        word = begin
        while not inside[word] and steps < most_steps:
            chosen[word] = _step(weights, word, n, not single_root, walks)
            if chosen[word] < 0:
                return _given_up(n, top, heads)
            word = chosen[word]
            steps += 1
        if steps >= most_steps:
            return _given_up(n, top, heads)
        word = begin
        while not inside[word]:
            inside[word] = True
            heads[word] = 0 if chosen[word] == n else chosen[word] + 1
            word = chosen[word]
    return True


@compiled
def samples(
    first, last, weights, lengths, single_root, root_marginals, most_steps, seeds, heads, done,
    walks,
):
    """Write exact samples to ``heads`` (count, batch, n), if walks stay below ``most_steps``.

    With a single root, its modifier is drawn first, from ``root_marginals`` (batch, n). It is kept
    where a walk is given up: another one would be drawn more often if its walks are short. All
    other heads of the sample are -1, and the sentence's later samples take no walks. ``done`` says
    which sentences have all their samples. ``walks`` are work arrays.
    """
    for b in range(first, last):
        n = lengths[b]
        walks.state[0] = seeds[b]
        for m in range(n):
            walks.total[m] = 0.0
            for h in range(n):
                if h != m or not single_root:
                    walks.total[m] += weights[b, h, m]
        done[b] = True
        for count in range(heads.shape[0]):
            done[b] = _draw(
                weights[b], n, single_root, root_marginals[b], most_steps if done[b] else 0,
                heads[count, b], walks,
            )
