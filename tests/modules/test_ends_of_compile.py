"""Where compILE says that subtasks end."""

import pytest
import torch
from demonstrations_by_hand import random_demonstrations
from torch import nn

from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy


class Written(nn.Module):
    """Scores that put one boundary after the other at given places."""

    def __init__(self, places):
        super().__init__()
        self.left = list(places)

    def forward(self, encoded):
        scores = torch.zeros_like(encoded[..., :1])
        scores[:, self.left.pop(0)] = 1e9
        return scores


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("boundaries", "ends"),
    [
        ([2, 5], [2, 5]),
        ([5, 2], [5]),  # the second segment is empty, and its boundary comes too early
        ([3, 3], [3]),
        ([2, 6], [2]),  # the last segment is empty
        ([6, 2], []),
    ],
)
def test_boundaries_of_empty_segments_end_nothing(boundaries, ends, training):
    policy = CompilePolicy(4, 5, 2, options=2, segments=3, size=4).train(training)
    observations, lengths, tasks, actions = random_demonstrations((6,))
    policy.recognition.boundary = Written(boundaries)
    said = policy(observations.float(), lengths, tasks, actions)
    assert said.ends[0].nonzero().flatten().tolist() == ends
    assert set(said.ends[0].tolist()) <= {0.0, 1.0}
