"""Preparers run here, and fairseq-preprocess replaced."""

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared import translation_folder


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


@pytest.fixture
def no_fairseq(monkeypatch):
    """Stand in for fairseq-preprocess, which takes seconds to start."""

    def stub(folder, *languages, joined_dictionary, workers):
        (folder / "data-bin").mkdir()
        for lang in languages:
            (folder / "data-bin" / f"dict.{lang}.txt").write_text("a 1\n", encoding="utf-8")

    monkeypatch.setattr(translation_folder, "binarise", stub)
