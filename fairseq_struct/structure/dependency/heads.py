"""Dependency trees as heads and as arcs.

Heads are integers (..., batch, n), 1-based, 0 for the root, as in CoNLL-U. Entries beyond a
sentence's end are ignored. Arcs are zeros and ones (..., batch, n, n): [h, m] is the arc from head
h to modifier m, counted from 0; [m, m] is the arc from the root to m.
"""

import torch
from torch import Tensor

from fairseq_struct.structure.checks import is_integral


def check(heads: Tensor, lengths: Tensor, shape: tuple[int, ...] | None = None):
    """Raise an error if heads (..., batch, n) are not words of their sentences.

    Args:
        heads: the heads to check.
        lengths: (batch,).
        shape: required batch and n, if known.

    Raises:
        TypeError: heads are not a tensor.
        ValueError: wrong shape, not integers, or a head out of range; names its word and sentence.
    """
    if not isinstance(heads, Tensor):
        raise TypeError(f"heads must be a tensor, not {type(heads).__name__}")
    size = "batch, n" if shape is None else ", ".join(map(str, shape))
    wrong = heads.dim() < 2 if shape is None else heads.shape[-2:] != torch.Size(shape)
    if wrong or not is_integral(heads):
        raise ValueError(
            f"heads must be integers of shape (..., {size}), not {heads.dtype} of shape "
            f"{tuple(heads.shape)}"
        )
    heads = heads.long()  # torch compares no large unsigned integers
    words = torch.arange(heads.size(-1), device=heads.device)
    wrong = ((heads < 0) | (heads > lengths[:, None])) & (words < lengths[:, None])
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"word {place[-1]} of sentence {place[-2]} has head {int(heads[tuple(place)])}; "
            f"heads are 0 (root) to {int(lengths[place[-2]])}"
        )


def check_known(known: Tensor, lengths: Tensor, shape: tuple[int, ...]):
    """As :func:`check`, for partly known heads (batch, n), below 0 where unknown.

    Raises:
        TypeError, ValueError: as :func:`check`, or a word is its own head.
    """
    if isinstance(known, Tensor) and known.dim() != 2:
        raise ValueError(f"known heads must have 2 dimensions, not {known.dim()}")
    integers = isinstance(known, Tensor) and is_integral(known)
    check(known.long().clamp_min(0) if integers else known, lengths, shape)
    words = torch.arange(known.size(-1), device=known.device)
    own = (known.long() == words + 1) & (words < lengths[:, None])
    if own.any():
        b, m = own.nonzero()[0].tolist()
        raise ValueError(f"word {m} of sentence {b} is its own head; 0 stands for the root")


def rows_of(heads: Tensor, lengths: Tensor) -> Tensor:
    """Row of each word's arc: the head's row, or the word's own for the root. As ``heads``."""
    heads = heads.long()  # so that 0 - 1 is below 0
    words = torch.arange(heads.size(-1), device=heads.device)
    to_root = (heads == 0) | (words >= lengths[:, None])
    return torch.where(to_root, words, heads - 1)


def values_of(arcs: Tensor, heads: Tensor, lengths: Tensor) -> Tensor:
    """Entries of ``arcs`` (batch, n, n) at heads (..., batch, n); as heads, 0 beyond the end."""
    rows = rows_of(heads, lengths).unsqueeze(-2)
    values = arcs.expand(*heads.shape[:-1], *arcs.shape[1:]).gather(-2, rows).squeeze(-2)
    words = torch.arange(heads.size(-1), device=heads.device)
    return values.masked_fill(words >= lengths[:, None], 0.0)


def arcs_that_fit(known: Tensor, lengths: Tensor) -> Tensor:
    """Which arcs (batch, n, n) agree with known heads (batch, n), below 0 where unknown."""
    known = known.long()
    words = torch.arange(known.size(-1), device=known.device)
    rows = rows_of(known.clamp_min(0), lengths)
    return (known < 0)[:, None, :] | (words[:, None] == rows[:, None, :])


def arcs_of(heads: Tensor, lengths: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Arcs (..., batch, n, n) of heads (..., batch, n)."""
    words = torch.arange(heads.size(-1), device=heads.device)
    ones = (words < lengths[:, None]).to(dtype).expand(heads.shape).unsqueeze(-2)
    empty = torch.zeros(*heads.shape, heads.size(-1), dtype=dtype, device=heads.device)
    return empty.scatter_(-2, rows_of(heads, lengths).unsqueeze(-2), ones)


def heads_of(arcs: Tensor) -> Tensor:
    """Heads (..., n) of arcs (..., n, n); 0 for the root and where there is no arc."""
    n = arcs.size(-1)
    numbers = torch.arange(1, n + 1, device=arcs.device)
    own = torch.eye(n, dtype=torch.bool, device=arcs.device)
    arcs = arcs.masked_fill(own, 0)
    whole = arcs.round() if arcs.is_floating_point() else arcs
    return (whole.long() * numbers[:, None]).sum(-2)


def is_tree(
    heads: Tensor, lengths: Tensor, projective: bool = False, single_root: bool = False
) -> Tensor:
    """Whether every word reaches the root, (..., batch) booleans.

    Args:
        heads: (..., batch, n).
        lengths: (batch,).
        projective: also require that no two arcs cross, with the root in front of the sentence.
        single_root: also require that the root has exactly one modifier.
    """
    n = heads.size(-1)
    check(heads, lengths)
    heads = heads.long()
    rows = rows_of(heads, lengths)
    words = torch.arange(n, device=heads.device)
    within = words < lengths[:, None]
    # Repeated squaring of the step from word to head, until it spans the sentence.
    above = _above(rows, lengths)
    for _ in range(n.bit_length()):
        above = above.gather(-1, above)
    own = (heads == words + 1) & within  # their row would stand for the root
    valid = (above == n).all(-1) & ~own.any(-1)
    if single_root:
        valid &= ((heads == 0) & within).sum(-1) == 1
    if projective:
        low, high = torch.minimum(heads, words + 1), torch.maximum(heads, words + 1)
        a, b = low.unsqueeze(-1), high.unsqueeze(-1)
        c, d = low.unsqueeze(-2), high.unsqueeze(-2)
        crossing = (a < c) & (c < b) & (b < d) & within[:, :, None] & within[:, None, :]
        valid &= ~crossing.any(-1).any(-1)
    return valid


def depths(heads: Tensor, lengths: Tensor) -> Tensor:
    """Largest number of arcs from the root to a word, (..., batch) integers; 1 for a flat tree.

    Args:
        heads: (..., batch, n), trees.
        lengths: (batch,).
    """
    n = heads.size(-1)
    above = _above(rows_of(heads, lengths), lengths)
    # Each round doubles the arcs that a word's pointer spans.
    spans = (above != n).long()
    for _ in range(n.bit_length()):
        spans = spans + spans.gather(-1, above)
        above = above.gather(-1, above)
    return spans.amax(-1) + 1


def _above(rows: Tensor, lengths: Tensor) -> Tensor:
    """The head of each word, (..., batch, n + 1): n is the root, and above itself and padding."""
    n = rows.size(-1)
    words = torch.arange(n, device=rows.device)
    above = torch.where((rows == words) | (words >= lengths[:, None]), n, rows)
    return torch.nn.functional.pad(above, (0, 1), value=n)
