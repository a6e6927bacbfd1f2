"""Masks of padded batches, and their lengths."""

import torch
from torch import Tensor

from fairseq_struct.structure.checks import is_integral, of_shape


def check_lengths(lengths: Tensor, longest: int, least: int = 1):
    """Refuse lengths that no sequence of a padded batch has.

    On a GPU, where a look at the numbers would wait for it, they are not checked.

    Args:
        lengths: of any shape.
        longest: places of the padded batch.
        least: 0 where sequences may be empty.

    Raises:
        ValueError: they are no integers, or out of range.
    """
    if lengths.device.type != "cpu" or not lengths.numel() or torch.compiler.is_compiling():
        return  # a look at values would end a graph, too
    known = lengths.long()  # torch compares no large unsigned integers
    if not is_integral(lengths) or known.min() < least or known.max() > longest:
        raise ValueError(
            f"lengths must be integers between {least} and {longest}, not {lengths.tolist()}"
        )


def check_lengths_of(rows: Tensor, lengths: Tensor, least: int = 1):
    """As :func:`check_lengths`, of rows (batch, n, ...); there must be one for each.

    Raises:
        ValueError: they are of another batch, no integers, or out of range.
    """
    of_shape("lengths", lengths, (len(rows),))
    check_lengths(lengths, rows.size(1), least)


def within(lengths: Tensor, size: int) -> Tensor:
    """Which places are inside their sequence, (batch, size) booleans.

    Args:
        lengths: (batch,) places of each sequence, the others being padding.
        size: places of the padded batch.
    """
    return torch.arange(size, device=lengths.device) < lengths[:, None]
