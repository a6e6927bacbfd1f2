"""Commands whose work is a folder finish it, whether somebody reads what they say or not."""

import os
import subprocess
import sys

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared.lasting_output import LastingOutput


@pytest.fixture
def unread():
    """A file that writes to a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w")


def test_what_nobody_reads_is_lost(unread):
    output = LastingOutput(unread)
    for _ in range(3):
        print("x" * 100000, file=output, flush=True)
    output.close()
    assert output.closed


def test_a_corpus_is_prepared_although_nobody_reads(unread, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", unread)
    words = ["prepare", "synthetic_translation", f"{tmp_path}/out", "--sentences", "20", "4", "4"]
    assert main(words) == 0
    assert (tmp_path / "out" / "manifest.json").is_file()
    unread.close()  # nothing is left in it that could not be written


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_output_is_captured_without_a_screen(closed, tmp_path):
    program = (
        "import sys, pathlib; from fairseq_struct.cli.training.captured_output import "
        "CapturedOutput as C\n"
        "with C() as screen:\n"
        f"    screen.log_to(pathlib.Path('{tmp_path}/log'), alone=True)\n"
        "    print('\\udcff', file=screen.out); print('kept', flush=True)\n"
    )
    command = f'"{sys.executable}" -c "$0" {closed}'
    subprocess.run(["bash", "-c", command, program], check=True)
    assert (tmp_path / "log").read_text() == "kept\n"


def test_help_without_docstrings():
    command = [sys.executable, "-OO", "-m", "fairseq_struct.cli.main", "parse", "--help"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "--probabilities" in said
