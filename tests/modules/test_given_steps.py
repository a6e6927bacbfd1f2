"""Gold steps that do not fit their sentences are refused, with the step."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.recurrent_mechanisms import RimComposer, follow

TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
LENGTHS, COUNTS = torch.tensor([4, 2]), torch.tensor([7, 3])
STARTS = torch.tensor([[3, 2, 2, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
ENDS = torch.tensor([[4, 3, 4, 2, 1, 2, 4], [2, 1, 2, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": [5, 2]}, "sentence 0 has length 5; allowed are 1 to 4"),
        ({"lengths": [4, 0]}, "sentence 1 has length 0; allowed are 1 to 4"),
        ({"step_counts": [7, 8]}, "sentence 1 has 8 steps, but 7 are given"),
        ({"step_counts": [0, 0]}, "no sentence has a step"),
        ({"starts": (1, 2, -1)}, "step 2 of sentence 1 is the span -1 to 2, but the sent"),
        ({"starts": (0, 3, 4)}, "step 3 of sentence 0 is the span 4 to "),
        ({"ends": (1, 0, 3)}, "step 0 of sentence 1 is the span 1 to 3, but the sentence has 2"),
    ],
)
def test_steps_that_do_not_fit_are_refused(change, message):
    given = {"tokens": TOKENS, "lengths": LENGTHS, "starts": STARTS, "ends": ENDS,
             "step_counts": COUNTS}  # fmt: skip
    for name, value in change.items():
        if isinstance(value, list):
            given[name] = torch.tensor(value)
        else:
            given[name] = given[name].clone()
            given[name][value[:2]] = value[2]
    composer = RimComposer(nn.Embedding(9, 8, 0), 3, 2, categories=4)
    with pytest.raises(ValueError, match=message):
        follow(composer, **given)
