"""Sums over all dependency trees in plain torch, in the log domain, without subtraction.

This is the elimination of ``matrix_tree_kernels`` on logarithms. No score can make it overflow,
cancel or underflow. It is used with ``backend="torch"``, for third and higher derivatives, and
where the compiled kernels' numbers leave the range of float64. It is also the reference in tests of
those kernels.
"""

import torch
from torch import Tensor

from fairseq_struct.structure.log_domain import FORBIDDEN, without_forbidden


def log_partition(scores: Tensor, lengths: Tensor, last_words: Tensor | None = None) -> Tensor:
    """Log of the sum over dependency trees of exp(score), differentiable to any order.

    Args:
        scores: (batch, n, n) arc scores in float64, the root's on the diagonal.
        lengths: (batch,) words per sentence.
        last_words: (batch,) for trees with a single root: a word that is the root's modifier in
            some tree. None allows any number of modifiers.

    Returns:
        (batch,); below ``log_domain.NO_TREE`` where there is no tree.
    """
    batch, n, _ = scores.shape
    single_root = last_words is not None
    words = torch.arange(n, device=scores.device)
    padding = words >= lengths[:, None]
    scores = without_forbidden(scores)
    # A padding word has one possible head, at weight 1, and is the head of no word.
    outside = padding[:, None, :] | padding[:, :, None]
    own = torch.eye(n, dtype=torch.bool, device=scores.device)
    scores = scores.masked_fill(outside, FORBIDDEN)
    if single_root:
        anchored = padding[:, None, :] & (words[:, None] == last_words[:, None, None])
        scores = scores.masked_fill(anchored, 0.0)
    else:
        scores = scores.masked_fill(padding[:, None, :] & own, 0.0)
    root = scores.diagonal(0, 1, 2)
    heads = scores.transpose(1, 2)  # heads[i, j]: word j as head of word i
    if single_root:
        order = words.expand(batch, n).clone()
        sentences = torch.arange(batch, device=scores.device)
        order[sentences, last_words], order[:, n - 1] = n - 1, last_words
        root = root.gather(1, order)
        heads = heads.gather(1, order[:, :, None].expand(-1, -1, n))
        heads = heads.gather(2, order[:, None, :].expand(-1, n, -1))
    total = scores.new_zeros(batch)
    for _ in range(n - 1):
        row, own_root, column = heads[:, 0, 1:], root[:, :1], heads[:, 1:, 0]
        exits = row if single_root else torch.cat([row, own_root], 1)
        d = exits.logsumexp(1)
        total = total + d
        share = column - d[:, None]
        heads = _log_add(heads[:, 1:, 1:], share[:, :, None] + row[:, None, :])
        root = _log_add(root[:, 1:], share + own_root)
    return total + root[:, 0]


def _log_add(a: Tensor, b: Tensor) -> Tensor:
    # torch.logaddexp has second derivatives of NaN where a and b are far from each other.
    return torch.stack([a, b]).logsumexp(0)
