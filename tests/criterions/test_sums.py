"""What is shown of the sums that criterions log: means over all batches."""

import torch
from fairseq.logging import metrics

from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total

LOGS = [
    {"loss": torch.tensor(3.0), "right": torch.tensor(1), "table": torch.eye(2), "count": 4},
    {"loss": torch.tensor(1.0), "right": torch.tensor(2), "table": torch.eye(2), "count": 3},
]


def test_sums_are_numbers_or_tables_and_0_where_they_are_missing():
    assert total(LOGS, "count") == 7 and total(LOGS, "energy") == 0
    assert torch.equal(total(LOGS, "table"), 2 * torch.eye(2))


def test_means_and_shares_are_of_all_batches_of_a_subset():
    with metrics.aggregate(new_root=True) as shown:
        for logs in (LOGS, LOGS[:1]):
            count = total(logs, "count")
            log_mean(logs, "loss", count)
            log_percentage(logs, "accuracy", count, of="right")
            log_mean(logs, "wrong", count, of="right", scale=-1, round=1)
            log_mean(logs, "energy", count)
    assert dict(shown.get_smoothed_values()) == {
        "loss": round(7 / 11, 4), "accuracy": round(100 * 4 / 11, 2), "wrong": -0.4,
    }  # fmt: skip
