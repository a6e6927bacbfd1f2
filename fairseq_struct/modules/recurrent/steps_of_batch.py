"""The steps of a padded batch, each with the rows that are not at their end yet."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


class StepsOfBatch:
    """A batch without its padding, for recursions over its steps.

    Rows are put in order of their lengths, longest first, so that the rows of a step are the first
    ones of the step before: a state of all rows is cut to the first of them. The work is that of
    the real steps, however different the lengths are, and padding is never read.

    Args:
        given: (batch, steps, ..), padded on the right.
        lengths: (batch,) steps of each row, 1 or more.

    Attributes:
        given: (total, ..) the real steps of all rows; those of the first step first.
        rows: of each step, how many; never more than of the step before.
    """

    def __init__(self, given: Tensor, lengths: Tensor):
        packed = pack_padded_sequence(given, lengths.cpu(), batch_first=True, enforce_sorted=False)
        self._packed, self._steps = packed, given.size(1)
        self.given = packed.data
        self.rows: list[int] = packed.batch_sizes.tolist()

    def sorted(self, values: Tensor) -> Tensor:
        """Values (batch, ..) of rows, in the order of the rows here."""
        return values.index_select(0, self._packed.sorted_indices)

    def padded(self, found: Sequence[Tensor]) -> Tensor:
        """(batch, steps, ..), 0 in the padding, of what was found at each step, (rows, ..)."""
        packed = PackedSequence(torch.cat(list(found)), *self._packed[1:])
        return pad_packed_sequence(packed, batch_first=True, total_length=self._steps)[0]
