"""Checks of gold steps that are given to a composer."""

import torch
from torch import Tensor

from fairseq_struct.structure.checks import sentence_lengths


def check_steps(tokens: Tensor, lengths: Tensor, starts: Tensor, ends: Tensor, counts: Tensor):
    """Check the sentences of a batch and the spans of their steps.

    Args:
        tokens: (batch, n).
        lengths: (batch,).
        starts, ends: (batch, steps) spans over words, the end excluded.
        counts: (batch,) steps of each sentence.

    Raises:
        ValueError: a length is below 1 or above n, more steps are said than given, no sentence has
            a step, or a span is empty or not within its sentence.
    """
    sentence_lengths(lengths, tokens)
    most = starts.size(1)
    wrong = (counts < 0) | (counts > most)
    if wrong.any():
        b = int(wrong.nonzero()[0])
        raise ValueError(f"sentence {b} has {int(counts[b])} steps, but {most} are given")
    if not counts.any():
        raise ValueError("no sentence has a step")
    given = torch.arange(most, device=counts.device) < counts[:, None]
    wrong = given & ((starts < 0) | (starts >= ends) | (ends > lengths[:, None]))
    if wrong.any():
        b, step = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"step {step} of sentence {b} is the span {int(starts[b, step])} to "
            f"{int(ends[b, step])}, but the sentence has {int(lengths[b])} words"
        )
