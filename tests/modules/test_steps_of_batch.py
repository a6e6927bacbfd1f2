import pytest
import torch

from fairseq_struct.modules.recurrent.steps_of_batch import StepsOfBatch

LENGTHS = torch.tensor([2, 4, 1, 4])


def given():
    values = torch.arange(1.0, 4 * 5 * 3 + 1).view(4, 5, 3)
    values[torch.arange(5) >= LENGTHS[:, None]] = torch.nan  # padding, one column of it alone
    return values.requires_grad_()


def test_rows_of_steps_and_back():
    values = given()
    batch = StepsOfBatch(values, LENGTHS)
    assert batch.rows == [4, 3, 2, 2]
    assert batch.sorted(LENGTHS).tolist() == [4, 4, 2, 1]
    steps = batch.given.split(batch.rows)
    for rows in zip(steps[0], batch.sorted(values[:, 0]), strict=True):
        assert torch.equal(*rows)
    assert torch.equal(steps[3], values[[1, 3], 3])
    assert torch.equal(batch.padded(steps), values.nan_to_num(0))


def test_a_batch_that_cannot_be():
    for rows, lengths, message in (
        (2, torch.tensor([6, 1]), "row 0 has length 6; allowed are 1 to 5"),
        (2, [1, 0], "row 1 has length 0; allowed are 1 to 5"),
        (2, torch.tensor([1]), r"lengths must be 2 integers, not \[1\]"),
        (0, torch.zeros(0, dtype=torch.long), "the batch is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            StepsOfBatch(torch.zeros(rows, 5, 3), lengths)
    batch = StepsOfBatch(given(), LENGTHS.tolist())  # a list is as good
    assert batch.rows == [4, 3, 2, 2]
    assert batch.sorted([0, 1, 2, 3]).tolist() == batch.sorted(torch.arange(4)).tolist()
    with pytest.raises(ValueError, match="3 values are given for a batch of 4 rows"):
        batch.sorted(LENGTHS[:3])


def test_states_of_rows_that_go_on():
    values = given()
    batch = StepsOfBatch(values, LENGTHS)
    total, sums = torch.zeros(4, 3), []
    for step in batch.given.split(batch.rows):
        total = total[: len(step)] + step
        sums.append(total)
    real = torch.arange(5) < LENGTHS[:, None]
    expected = values.detach().nan_to_num(0).cumsum(1) * real[..., None]
    assert torch.equal(batch.padded(sums), expected)
    batch.padded(sums).sum().backward()
    left = (LENGTHS[:, None] - torch.arange(5)).clamp(min=0).float()
    assert torch.equal(values.grad, left[..., None].expand(-1, -1, 3))
