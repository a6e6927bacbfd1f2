"""How often a tree attaches, stops and goes on: what the scores of trees with valence multiply."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from fairseq_struct.structure.dependency.valence.scores import GO, LEFT, NONE, RIGHT, SOME, STOP


@dataclass(frozen=True)
class ValenceCounts:
    """Counts of one tree or expected counts of many, for each sentence; 0 beyond its end.

    Attributes:
        attach: (batch, n, n, 2): [b, h, m, v], v whether h already had a modifier on that side.
        stop: (batch, n, 2, 2, 2): [b, h, direction, v, decision].
        root: (batch, n).
    """

    attach: Tensor
    stop: Tensor
    root: Tensor

    def __iter__(self) -> Iterator[Tensor]:
        return iter(getattr(self, field.name) for field in fields(self))

    @property
    def arcs(self) -> Tensor:
        """Counts of arcs, (batch, n, n), with those of the root on the diagonal."""
        return self.attach.sum(-1) + torch.diag_embed(self.root)

    def times(self, scores: Iterable[Tensor]) -> Tensor:
        """Sum of counts times scores, (batch,); 0 times -inf is 0.

        Args:
            scores: of attachments, stops and roots, in the shapes of the counts.
        """
        return sum(
            (count * own.masked_fill(count == 0, 0.0)).flatten(1).sum(1)
            for count, own in zip(self, scores, strict=True)
        )


def counts_of(arcs: Tensor) -> ValenceCounts:
    """Counts of trees.

    Args:
        arcs: (batch, n, n) zeros and ones, the root's on the diagonal; 0 beyond the end.

    Returns:
        The counts; every word of a sentence stops once on each side.
    """
    root = arcs.diagonal(0, 1, 2)
    words = arcs.sum(1)  # one arc leads to each word
    left, right = arcs.tril(-1), arcs.triu(1)
    # Among a head's modifiers on one side the first is the nearest one.
    nearest = left * (left.flip(2).cumsum(2).flip(2) == 1) + right * (right.cumsum(2) == 1)
    attach = torch.stack([nearest, left + right - nearest], 3)
    stop = arcs.new_zeros(*words.shape, 2, 2, 2)
    for direction, own in ((LEFT, left), (RIGHT, right)):
        number = own.sum(2)
        some = number.clamp_max(1)
        stop[:, :, direction, NONE, GO] = some
        stop[:, :, direction, SOME, GO] = number - some
        stop[:, :, direction, NONE, STOP] = words - some
        stop[:, :, direction, SOME, STOP] = some
    return ValenceCounts(attach, stop, root)
