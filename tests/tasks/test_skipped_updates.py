"""Updates that fp16 skips, because their gradients overflow, leave nothing behind."""

import torch
from fairseq.logging import metrics
from mapped_splits import drawn_lines, task, write_folder
from small_runs import TASKS

from fairseq_struct.criterions.structured_classification import StructuredClassificationCriterion


class Network(torch.nn.Module):
    """Stands in for a model and its criterion."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.progress = {}

    def set_num_updates(self, updates):
        pass

    def forward(self, model, sample):
        sample["state_after"] = None
        return self.weight.sum(), 1, {}


class Rate:
    """Stands in for an optimizer; notes the rate of each step."""

    def __init__(self):
        self.rate, self.steps = 8.0, []

    def get_lr(self):
        return self.rate

    def set_lr(self, rate):
        self.rate = rate

    def backward(self, loss):
        loss.backward()

    def step(self, *_, **__):
        self.steps.append(self.rate)


def test_the_share_of_a_skipped_window_scales_no_other_step(tmp_path):
    owner = task(TASKS[0], write_folder(tmp_path / "data-bin", drawn_lines(9)))
    network, optimizer = Network(), Rate()

    def window(share):
        sample = {"first": True, "share": share, "nsentences": 1, "net_input": {}}
        owner.train_step(sample, network, network, optimizer, 0)

    window(1.5)
    network.zero_grad()  # the update is skipped
    window(0.25)
    window(0.75)
    owner.optimizer_step(optimizer, network, 0)
    assert optimizer.steps == [8.0 * 0.5] and optimizer.rate == 8.0


def test_an_epoch_without_an_update_has_an_accuracy_of_0():
    logged = {"loss": torch.tensor(1.0), "sample_size": 3, "confusion": torch.eye(2).long()}
    with metrics.aggregate(new_root=True) as seen:
        StructuredClassificationCriterion.reduce_metrics([logged])
    assert seen.get_smoothed_values()["accuracy"] == 100
    seen.reset()
    values = seen.get_smoothed_values()
    assert values["accuracy"] == values["macro_f1"] == 0
