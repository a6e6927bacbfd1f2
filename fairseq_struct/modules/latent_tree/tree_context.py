"""What a word reads of a tree: its head's vector, or the average of all its possible heads."""

import torch
from torch import Tensor


def head_vectors(arcs: Tensor, words: Tensor, root: Tensor) -> Tensor:
    """x_head(m) = sum_h mu(h -> m) x_h (Mihaylova's thesis, section 4.5.2), (batch, n, d).

    For a tree this is the vector of the word's head, for a mean of trees the average of the
    vectors of all words weighted by their probability of being the head.

    Args:
        arcs: mu, (batch, n, n), arcs from the root on the diagonal; 0 beyond a sentence's end.
        words: x, (batch, n, d); what stands beyond a sentence's end must be finite.
        root: (d,), the root's own vector.
    """
    arcs = arcs.to(words.dtype)
    from_root = arcs.diagonal(dim1=1, dim2=2)
    # Adding mu(root -> m) (root - x_m) spares a copy of mu without its diagonal.
    return torch.bmm(arcs.transpose(1, 2), words) + from_root.unsqueeze(-1) * (root - words)
