"""The criterion of imitation: numbers of a hand-made batch."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import one_hot

from fairseq_struct.criterions.craft_imitation import CraftImitationCriterion
from fairseq_struct.modules.option_controller import Imitation

# Two demonstrations of two subtasks, 5 and 3 steps long; -1 is padding.
SUBTASKS = torch.tensor([[2, 2, 0, 0, 0], [0, 2, 2, -1, -1]])
BOUNDARIES = torch.tensor([[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]).bool()
ACTIONS = torch.tensor([[0, 1, 2, 3, 4], [4, 3, 2, -1, -1]])


class Policy:
    """Says what it is made with."""

    training, ends_are_probabilities = False, True

    def __init__(self, options):
        chances = torch.full((2, 5, 5), 0.125)
        chances[..., 2] = 0.5  # always the action 2
        self.found = Imitation(chances.log(), torch.zeros(2, 5), options)

    def __call__(self):
        return self.found


def validated(options: torch.Tensor, together: bool = True) -> dict[str, float]:
    """What the validation logs, over one batch or two batches of one demonstration."""
    from fairseq.logging import metrics

    task = SimpleNamespace(about={"kinds": "ABCD"}, own_criterion="craft_imitation")
    criterion = CraftImitationCriterion(task)
    rows = [slice(0, 2)] if together else [slice(0, 1), slice(1, 2)]
    with metrics.aggregate(new_root=True) as found:
        for own in rows:
            policy = Policy(one_hot(options, 3).double())
            policy.found = Imitation(*(part[own] for part in policy.found[:3]))
            sample = {
                "net_input": {}, "actions": ACTIONS[own], "subtasks": SUBTASKS[own],
                "boundaries": BOUNDARIES[own], "ntokens": int((ACTIONS[own] >= 0).sum()),
                "nsentences": len(ACTIONS[own]),
            }  # fmt: skip
            CraftImitationCriterion.reduce_metrics([criterion(policy, sample)[2]])
        return found.get_smoothed_values()


@pytest.mark.parametrize(
    ("options", "nmi"),
    [
        # Other names for the same two parts; the steps of padding do not count.
        ([[1, 1, 2, 2, 2], [2, 1, 1, 0, 0]], 100.0),
        ([[0] * 5, [0] * 5], 0.0),
        # Of four steps of each subtask, three have its own option: one bit each, and
        # 1 - H(1/4) = 0.1887 bits in common.
        ([[1, 1, 2, 2, 1], [2, 1, 2, 0, 0]], 18.87),
        # One subtask in two options: homogeneous, but not complete; 2 * 1 / (1 + 1.5).
        ([[1, 1, 2, 2, 2], [2, 0, 0, 1, 1]], 80.0),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_nmi_is_of_options_and_subtasks_over_all_steps(options, nmi, together):
    found = validated(torch.tensor(options), together)
    assert found["nmi"] == pytest.approx(nmi, abs=0.01)
    assert found["action_accuracy"] == 25
    # Two of eight steps have probability 1/2, six have 1/8.
    assert found["loss"] == pytest.approx((2 * 1 + 6 * 3) / 8 * math.log(2), abs=1e-4)
