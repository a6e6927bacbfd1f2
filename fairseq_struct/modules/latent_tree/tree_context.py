"""Vectors of words' heads in a tree, or averages over all possible heads."""

import torch
from torch import Tensor


def head_vectors(arcs: Tensor, words: Tensor, root: Tensor) -> Tensor:
    """x_head(m) = sum_h mu(h -> m) x_h (Mihaylova's thesis, section 4.5.2), (batch, n, d).

    For a tree this is the vector of the word's head. For a mean of trees it is the average of all
    vectors, weighted by the probability of being the head.

    Args:
        arcs: mu, (batch, n, n), arcs from the root on the diagonal; 0 beyond a sentence's end.
        words: x, (batch, n, d); must also be finite beyond a sentence's end.
        root: (d,), the root's vector.
    """
    arcs = arcs.to(words.dtype)
    from_root = arcs.diagonal(dim1=1, dim2=2)
    # Adding mu(root -> m) (root - x_m) avoids a copy of mu without its diagonal.
    return torch.bmm(arcs.transpose(1, 2), words) + from_root.unsqueeze(-1) * (root - words)
