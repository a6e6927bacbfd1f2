"""The steps of a padded batch, each with the rows that are not at their end yet."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from fairseq_struct.structure.checks import sentence_lengths


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

    Raises:
        ValueError: there are no rows, or lengths that are no integers from 1 to the steps.
    """

    def __init__(self, given: Tensor, lengths: Tensor):
        if not len(given):
            raise ValueError("the batch is empty; it needs 1 row or more")
        lengths = sentence_lengths(lengths, given, "row", device="cpu")
        packed = pack_padded_sequence(given, lengths, batch_first=True, enforce_sorted=False)
        self._packed, self._steps = packed, given.size(1)
        self.given = packed.data
        self.rows: list[int] = packed.batch_sizes.tolist()

    def sorted(self, values: Tensor | Sequence) -> Tensor:
        """Values (batch, ..) of rows, a tensor or a list, in the order of the rows here.

        Raises:
            ValueError: the values are of more or fewer rows.
        """
        values = torch.as_tensor(values, device=self.given.device)
        if len(values) != self.rows[0]:
            raise ValueError(f"{len(values)} values are given for a batch of {self.rows[0]} rows")
        return values.index_select(0, self._packed.sorted_indices)

    def padded(self, found: Sequence[Tensor]) -> Tensor:
        """(batch, steps, ..), 0 in the padding, of what was found at each step, (rows, ..)."""
        packed = PackedSequence(torch.cat(list(found)), *self._packed[1:])
        return pad_packed_sequence(packed, batch_first=True, total_length=self._steps)[0]
