"""Processes that torchrun starts train together, on CPUs and on machines with one GPU each."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.distributed import utils
from fairseq_commands import USER_DIR, write_data_bin
from torch.distributed import TCPStore, rendezvous
from two_processes import train, up_to_rounding

from fairseq_struct import plugin
from fairseq_struct.errors import InputError

PLACE = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "4", "RANK": "3",
         "LOCAL_RANK": "1"}  # fmt: skip


@pytest.fixture(autouse=True)
def _hooks():
    plugin.load()


@pytest.fixture
def torchrun(monkeypatch):
    for name, value in PLACE.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def configuration(cpu=False, backend="nccl", method=None, size=1):
    distributed = SimpleNamespace(
        distributed_init_method=method, distributed_world_size=size, distributed_rank=0,
        distributed_backend=backend, distributed_no_spawn=False, distributed_port=-1, device_id=0,
        tpu=False, pipeline_model_parallel=False,
    )  # fmt: skip
    return SimpleNamespace(
        common=SimpleNamespace(cpu=cpu, tpu=False, seed=1), common_eval=SimpleNamespace(path=None),
        dataset=SimpleNamespace(batch_size=1, max_tokens=None, disable_validation=True),
        distributed_training=distributed,
    )  # fmt: skip


def called(monkeypatch, cfg):
    """How fairseq begins a training: alone, or as which process."""
    begun = []
    monkeypatch.setattr(utils, "distributed_main", lambda device, *_: begun.append(device))
    utils.call_main(cfg, lambda cfg: begun.append("alone"))
    return begun


@pytest.mark.parametrize("ddp", ["pytorch_ddp", "legacy_ddp"])
def test_they_make_the_updates_of_one_with_update_freq_two(ddp, tmp_path):
    data = write_data_bin(tmp_path, train=40, held_out=10)
    options = [
        data, f"--user-dir={USER_DIR}", "--arch=scheduled_sampling_transformer_tiny",
        "--encoder-layers=1", "--decoder-layers=1", "--dropout=0", "--schedule=constant",
        "--schedule-k=1", "--batch-size=10", "--optimizer=sgd", "--lr=0.1", "--max-epoch=1",
        "--no-progress-bar", "--log-format=json", "--num-workers=0", "--no-epoch-checkpoints",
        "--required-batch-size-multiple=1",
    ]  # fmt: skip
    one = train(tmp_path / "one", *options, "--update-freq=2")[0]
    two = train(tmp_path / "two", *options, workers=2, ddp=ddp, torchrun=True)
    assert [] != two[0].logged("valid") == up_to_rounding(one.logged("valid"))
    for name, value in one.state.items():
        torch.testing.assert_close(value, two[0].state[name], atol=1e-6, rtol=1e-6)


def test_on_cpus_they_meet_as_torchrun_says(torchrun):
    cfg = configuration(cpu=True)
    assert called(torchrun, cfg) == [1]
    found = cfg.distributed_training
    assert (found.distributed_world_size, found.distributed_rank) == (4, 3)
    assert (found.distributed_backend, found.distributed_init_method) == ("gloo", "env://")


def test_on_machines_with_a_gpu_each_they_are_one_training(torchrun):
    with_gpus(torchrun, 1)
    cfg = configuration()  # as fairseq's options are where one GPU is seen
    assert called(torchrun, cfg) == [0]
    found = cfg.distributed_training
    assert (found.distributed_world_size, found.distributed_rank) == (4, 3)
    assert (found.distributed_backend, found.distributed_no_spawn) == ("nccl", True)


@pytest.mark.parametrize("gpus", [0, 1])
def test_processes_that_are_started_again_do_not_see_what_the_ended_ones_stored(gpus, torchrun):
    ended = TCPStore("127.0.0.1", 0, is_master=True)
    ended.set("address", "of a process that has ended")
    started_by_torchrun(torchrun, ended.port, machines=1, times=1)
    with_gpus(torchrun, gpus)
    cfg = configuration()
    called(torchrun, cfg)
    found = next(rendezvous(cfg.distributed_training.distributed_init_method))
    assert found[1:] == (3, 4)
    assert not found[0].check(["address"])
    found[0].set("address", "of this one")
    assert ended.get("address") == b"of a process that has ended"


@pytest.mark.parametrize(("machines", "times"), [(1, 0), (2, 1)])
def test_at_first_and_on_several_machines_they_meet_by_the_variables(machines, times, torchrun):
    started_by_torchrun(torchrun, 1, machines, times)
    cfg = configuration(cpu=True)
    called(torchrun, cfg)
    assert cfg.distributed_training.distributed_init_method == "env://"


def started_by_torchrun(monkeypatch, port, machines, times):
    """Set the variables of processes whose store torchrun keeps, started again some times."""
    monkeypatch.setenv("MASTER_PORT", str(port))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(4 // machines))
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(times))
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")


def with_gpus(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)


def test_what_the_options_say_stays(torchrun):
    cfg = configuration(cpu=True, backend="gloo", method="file:///meeting", size=2)
    cfg.distributed_training.distributed_no_spawn = True
    assert called(torchrun, cfg) == [0]
    assert cfg.distributed_training.distributed_world_size == 2


def test_without_torchrun_a_training_is_alone(torchrun):
    torchrun.delenv("MASTER_PORT")
    assert called(torchrun, configuration(cpu=True)) == ["alone"]


def test_a_number_that_is_none_is_told(torchrun):
    torchrun.setenv("WORLD_SIZE", "two")
    with pytest.raises(InputError, match="^the environment's WORLD_SIZE must be a number, not 'tw"):
        called(torchrun, configuration(cpu=True))
