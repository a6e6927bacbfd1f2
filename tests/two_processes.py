"""Run ``fairseq-train`` in one or several processes, forked from one with all imports."""

import functools
import json
import multiprocessing
import os
import re
import sys
import traceback
from multiprocessing import forkserver
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
import torch
from torch.distributed import TCPStore

AT_A_SHELL = multiprocessing.get_all_start_methods()[0]  # the platform's default


class Trained(NamedTuple):
    """The results of a worker.

    Args:
        log: its output.
        state: of its model, buffers and extra state included.
    """

    log: str
    state: dict

    def logged(self, subset: str) -> list[dict[str, float]]:
        """Its logs of a subset, one dictionary for each log line.

        Times are left out, and values that fairseq's criterions average over steps, not words.
        """
        lines = re.findall(rf'\{{[^{{}}]*"{subset}_loss"[^{{}}]*\}}', self.log)
        unlike = re.compile(rf"{subset}_(wps|ups|wpb|bsz|train_wall|wall|total|n_correct)|epoch")
        return [
            {name: float(value) for name, value in json.loads(line).items()
             if not unlike.fullmatch(name)}
            for line in lines
        ]  # fmt: skip


def up_to_rounding(logs: list[dict[str, float]]) -> list:
    """What compares equal to logs whose last digit, the second or third, is another one."""
    return [pytest.approx(line, abs=0.011, rel=0) for line in logs]


def assert_close(first, second, tolerance=1e-6):
    """The same names, and numbers that differ by rounding only, checkpoints' states included."""
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(
            value, second[name], atol=tolerance, rtol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def assert_trained_alike(one, two, subsets=("train", "valid")):
    assert_close(two[0].state, two[1].state, 0.0)
    assert_close(one[0].state, two[0].state)
    for subset in subsets:
        alone, *both = (each.logged(subset) for each in (*one, *two))
        assert both[0] == both[1] != []
        assert both[0] == up_to_rounding(alone)


def train(
    folder: Path, *options: object, workers: int = 1, ddp: str = "legacy_ddp",
    torchrun: bool = False,
):  # fmt: skip
    """Train on the CPU, and wait for the end; a worker that fails ends the others.

    Args:
        folder: for the checkpoints and the workers' results.
        options: of ``fairseq-train``.
        workers: how many processes.
        ddp: ``--ddp-backend``.
        torchrun: whether workers know of each other by torchrun's variables, not by options.

    Returns:
        :class:`Trained` for every worker.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [*map(str, options), f"--save-dir={folder}", "--cpu"]
    processes = {}
    (folder / "meeting").unlink(missing_ok=True)
    # torchrun, too, listens itself, and tells its processes where.
    store = TCPStore("127.0.0.1", 0, is_master=True) if torchrun else None
    for rank in range(workers):
        place = {}
        several = [
            f"--distributed-world-size={workers}", f"--distributed-rank={rank}",
            f"--device-id={rank}", "--distributed-no-spawn", "--distributed-backend=gloo",
            f"--distributed-init-method=file://{folder}/meeting", f"--ddp-backend={ddp}",
        ]  # fmt: skip
        if torchrun:
            several = several[-1:]
            place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
                     "RANK": str(rank), "WORLD_SIZE": str(workers), "LOCAL_RANK": str(rank),
                     "TORCHELASTIC_USE_AGENT_STORE": "True",
                     "TORCHELASTIC_RESTART_COUNT": "0"}  # fmt: skip
        given = (folder, rank, [*arguments, *several] if workers > 1 else arguments, place)
        process = _warm().Process(target=_work, args=given)
        process.start()
        processes[process.sentinel] = process
    failed = []
    while processes:
        for sentinel in wait(processes):
            process = processes.pop(sentinel)
            process.join()
            if process.exitcode and not failed:
                failed.append(process)
                for other in processes.values():  # it would wait for this process
                    other.terminate()
    logs = [(folder / f"{rank}.log").read_text() for rank in range(workers)]
    assert not failed, "\n".join(log[-3000:] for log in logs)
    return [
        Trained(log, torch.load(folder / f"{rank}.pt", weights_only=True))
        for rank, log in enumerate(logs)
    ]


@functools.cache
def _warm():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warm_training"])
    with mock.patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parent)):
        forkserver.ensure_running()
    return context


def _work(folder: Path, rank: int, arguments: list[str], place: dict[str, str]):
    """The body of a worker."""
    os.environ.update(place)
    # Workers of data loaders begin as in a process from a shell. A forked process would take over
    # this file's way of starting, and make all imports again for each of them.
    multiprocessing.set_start_method(AT_A_SHELL, force=True)
    log = folder / f"{rank}.log"
    log.write_text("")
    try:
        assert "warm_training" in sys.modules, "it could not be imported before"
        torch.set_num_threads(1)
        import fairseq_cli.train
        from fairseq_commands import in_this_process, run

        trainers, trainer = [], fairseq_cli.train.Trainer
        fairseq_cli.train.Trainer = lambda *given: trainers.append(trainer(*given)) or trainers[0]
        with in_this_process():
            log.write_text(run("train", *arguments))
        torch.save(trainers[0].get_model().state_dict(), folder / f"{rank}.pt")
    except BaseException:
        log.write_text(traceback.format_exc())
        raise SystemExit(1) from None
