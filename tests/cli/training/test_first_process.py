"""Which of several processes speaks and writes the settings."""

import pytest

from fairseq_struct.cli.training.running import _is_first


@pytest.mark.parametrize(
    ("options", "environment", "first"),
    [
        ([], {}, True),
        ([], {"RANK": "1"}, False),
        (["--distributed-rank=0"], {"RANK": "1"}, True),
        (["--distributed-port", "29500"], {"SLURM_PROCID": "1"}, False),
        (["--distributed-port", "29500"], {"SLURM_PROCID": "0"}, True),
        ([], {"SLURM_PROCID": "1"}, True),  # trainings of their own, in tasks of one job
    ],
)
def test_the_first_process(options, environment, first, monkeypatch):
    for name in ("RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _is_first(options) == first
