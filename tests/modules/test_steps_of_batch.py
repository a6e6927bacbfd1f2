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
