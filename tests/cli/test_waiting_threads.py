"""Threads of torch that wait for each other: they leave the cores to other programs soon."""

import os
import subprocess
import sys

import pytest

from fairseq_struct.cli.main import main

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    "own, expected",
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_the_command_sets_what_the_user_has_not(monkeypatch, capsys, own, expected):
    environment = dict(own)
    monkeypatch.setattr("fairseq_struct.cli.main.os.environ", environment)
    monkeypatch.setattr(sys, "argv", ["fairseq-struct"])
    assert main([]) == 0 and environment == own  # a call from Python changes nothing
    assert main() == 0 and environment == expected


def test_torch_reads_it():
    code = "\n".join((
        "import sys", "from fairseq_struct.cli.main import main",
        "sys.argv[1:] = []", "main()", "import torch",
    ))  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    environment["OMP_DISPLAY_ENV"] = "verbose"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True, check=True).stderr  # fmt: skip
    if "GOMP_" not in said:
        pytest.skip("this torch has another OpenMP than GNU's")
    assert "GOMP_SPINCOUNT = '1000'" in said
