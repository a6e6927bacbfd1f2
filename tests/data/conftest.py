"""Preparers run here."""

import pytest

from fairseq_struct.cli.main import main


@pytest.fixture
def run(capsys):
    """Return a function that runs a preparer here, as (exit status, printed, complained)."""

    def run_here(name, arguments):
        try:
            status = main(["prepare", name, *map(str, arguments)])
        except SystemExit as stop:  # argparse
            status = stop.code
        return status, *capsys.readouterr()

    return run_here
