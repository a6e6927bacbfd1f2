"""Scores of arcs whose marginals are close to given ones, by scaling."""

from collections.abc import Callable

import torch
from torch import Tensor

# Scalings are cheap, but arcs of different words interact: full steps would overshoot.
MOST_SCALINGS, SHARE, LARGEST = 40, 0.15, 3.0
NEAR = 0.01


def scaled(trees: Callable, scores: Tensor, marginals: Tensor) -> Tensor:
    """Scores with marginals closer to mu: a share of log(mu / found) is added, arc by arc.

    A sentence is left alone as soon as all of its marginals are within 1 % of mu.

    Args:
        trees: makes :class:`.DependencyTrees` of scores.
        scores: (batch, n, n), where to start.
        marginals: (batch, n, n) mu; 0 where an arc is left alone.
    """
    near = torch.zeros(len(scores), dtype=torch.bool, device=scores.device)
    for _ in range(MOST_SCALINGS):
        found = trees(scores).marginals
        ratio = torch.where((marginals > 0) & (found > 0), marginals / found, 1.0)
        near = near | ((ratio - 1).abs() <= NEAR).flatten(-2).all(-1)
        if near.all():
            break
        move = SHARE * ratio.log().clamp(-LARGEST, LARGEST)
        scores = scores + move.masked_fill(near[:, None, None], 0.0)
    return scores
