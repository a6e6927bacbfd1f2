"""The mean of past losses does not depend on the split into batches and workers."""

import pytest
import torch

from fairseq_struct.metrics.gathering import present_rows, rows_among_workers
from fairseq_struct.modules import past_losses, workers
from fairseq_struct.modules.latent_clusters import LatentClassifier
from fairseq_struct.modules.past_losses import PastLosses, unknown_loss
from fairseq_struct.structure.pullback import MovingAverage


def step(past, average, losses, weight=1.0):
    """The value that the losses of a batch are compared with; the backward pass adds the losses."""
    losses = torch.tensor(losses, requires_grad=True)
    compared = past.before(average)(losses)
    differentiated = losses * 1
    past.count(differentiated, average)
    (weight * differentiated.sum()).backward()
    return float(compared)


def test_batch_by_batch_it_is_the_plain_moving_average():
    past, average, plain = PastLosses(0.9), unknown_loss(), MovingAverage(0.9)
    for losses in ([1.0, 3.0], [5.0, 6.0, 7.0], [0.5]):
        assert step(past, average, losses) == pytest.approx(plain(torch.tensor(losses)))
        assert float(average) == pytest.approx(plain.average)


def test_it_makes_no_difference_how_an_update_is_cut_into_batches():
    averages = []
    for cut in ([[[1.0, 2.0, 6.0]], [[4.0, 0.0, 1.0, 3.0]]],
                [[[1.0], [2.0, 6.0]], [[4.0, 0.0], [1.0, 3.0]]]):  # fmt: skip
        past, average = PastLosses(0.5), unknown_loss()
        for number, batches in enumerate(cut):
            past.set_num_updates(number)
            before = float(average)
            for losses in batches:
                past.set_num_updates(number)  # as fairseq does before every batch
                compared = step(past, average, losses)
                if number:  # in each batch of an update: the value before the update
                    assert compared == before
                else:
                    assert compared == pytest.approx(sum(losses) / len(losses))
        averages.append(float(average))
    assert averages == pytest.approx([0.5 * 3 + 0.5 * 2] * 2)


def test_made_up_batches_and_broken_losses_do_not_count():
    past, average = PastLosses(0.5), unknown_loss()
    past.set_num_updates(0)
    step(past, average, [2.0, 4.0])
    step(past, average, [9.0], weight=0.0)  # fairseq ends an epoch with too few batches so
    step(past, average, [float("nan"), float("inf"), 6.0])
    assert float(average) == 4
    past.set_num_updates(1)
    step(past, average, [7.0], weight=0.0)
    assert float(average) == 4
    with torch.no_grad():
        past.before(average)(torch.tensor([7.0]))
        past.count(torch.tensor([7.0]), average)
    assert float(average) == 4


def test_it_goes_on_from_a_checkpoint():
    past, average = PastLosses(0.5), unknown_loss()
    past.set_num_updates(0)
    step(past, average, [2.0])
    again, loaded = PastLosses(0.5), average.clone()
    for each, value in ((past, average), (again, loaded)):
        each.set_num_updates(1)
        assert step(each, value, [4.0, 8.0]) == 2
    assert float(average) == float(loaded) == 4


def test_losses_of_all_workers_count(monkeypatch):
    others = torch.tensor([10.0, 3.0], dtype=torch.float64)  # sum and count
    monkeypatch.setattr(past_losses, "sum_over_workers", lambda own: own + others)
    past, average = PastLosses(), unknown_loss()
    assert step(past, average, [2.0]) == 2  # without an average yet: the batch's own mean
    assert float(average) == 3
    assert step(past, average, [50.0]) == 3


@pytest.mark.parametrize("move", ["half", "bfloat16", "float"])
def test_the_average_stays_in_double_precision(move):
    """fairseq halves models for --fp16; steps of a hundredth would then vanish."""
    network = LatentClassifier(4, 3, "sfe_baseline")
    network.average_loss.fill_(100.001)
    assert getattr(network, move)().average_loss.dtype == torch.float64
    assert float(network.average_loss) == 100.001
    empty = network.to("meta").to_empty(device="cpu")
    assert empty.average_loss.dtype == torch.float64


def test_workers_draw_noise_of_their_own(monkeypatch):
    drawn = []
    for number in (0, 1, 2, 1):
        monkeypatch.setattr(workers, "rank", lambda number=number: number)
        torch.manual_seed(7)  # as fairseq does on all workers
        generator = workers.own_generator(torch.device("cpu"))
        assert (generator is None) == (number == 0)
        drawn.append(torch.rand(3, generator=generator))
    torch.manual_seed(7)
    assert torch.equal(drawn[0], torch.rand(3))  # one process draws as before
    assert torch.equal(drawn[1], drawn[3])
    assert not torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[1], drawn[2])


def test_the_sum_of_the_workers_tables_has_the_rows_of_all(monkeypatch):
    rows = [torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[4.0, 0.0]])]
    torch.testing.assert_close(present_rows(rows_among_workers(rows[0], 5)), rows[0])
    monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    tables = []
    for rank, own in enumerate(rows):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        tables.append(rows_among_workers(own, 3))
    torch.testing.assert_close(present_rows(sum(tables)), torch.cat(rows))
    # fairseq takes the numbers of a worker without a batch as 0.
    torch.testing.assert_close(present_rows(tables[0] + 0 * tables[1]), rows[0])
    with pytest.raises(ValueError, match="3 rows, more than the maximum of 2"):
        rows_among_workers(torch.zeros(3, 1), 2)
