"""Which of several processes speaks and writes the settings."""

import fcntl
import os
import re

import pytest

from fairseq_struct.cli.training.captured_output import CapturedOutput, InUse
from fairseq_struct.cli.training.running import _is_first

TORCHRUN = {"MASTER_ADDR": "localhost", "MASTER_PORT": "1", "WORLD_SIZE": "2", "RANK": "1"}


@pytest.mark.parametrize(
    ("options", "environment", "first"),
    [
        ([], {}, True),
        ([], TORCHRUN, False),
        ([], {**TORCHRUN, "RANK": "0"}, True),
        ([], {"RANK": "1"}, True),  # left over: fairseq trains in one process
        (["--distributed-rank=0"], TORCHRUN, True),
        (["--distributed-port", "29500"], {"SLURM_PROCID": "1"}, False),
        (["--distributed-port", "29500"], {"SLURM_PROCID": "0"}, True),
        ([], {"SLURM_PROCID": "1"}, True),  # trainings of their own, in tasks of one job
    ],
)
def test_the_first_process(options, environment, first, monkeypatch):
    for name in (*TORCHRUN, "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _is_first(options) == first


def test_another_training_in_the_same_folder_is_refused(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("theirs\n")
    with log.open() as theirs, CapturedOutput() as screen:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(InUse, match=f"another training runs in {re.escape(str(tmp_path))}$"):
            screen.log_to(log, alone=True)
        screen.log_to(tmp_path / "other.log", alone=True)
    assert log.read_text() == "theirs\n"
    with CapturedOutput() as screen:  # as soon as it has ended
        screen.log_to(log, alone=True)


def test_a_worker_that_outlives_a_training_keeps_no_lock(tmp_path):
    log = tmp_path / "train.log"
    (begun, begins), (ended, ends) = os.pipe(), os.pipe()
    with CapturedOutput() as screen:
        screen.log_to(log, alone=True)
        worker = os.fork()
        if not worker:
            os.close(ends)
            os.write(begins, b"1")
            os.read(ended, 1)  # until the test has ended
            os._exit(0)
        os.read(begun, 1)
    with CapturedOutput() as screen:
        screen.log_to(log, alone=True)
    os.close(ends)
    assert os.waitpid(worker, 0)[1] == 0
    for one in (begun, begins, ended):
        os.close(one)
