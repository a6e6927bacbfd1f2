"""Results that would be lost are told before work: closed or full output, misleading names."""

import contextlib
import io
import sys
from pathlib import Path

import pytest
from stored_models import STORED

from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import to_conllu


@pytest.fixture
def call(monkeypatch, capsys):
    """Classify a line; return the status, standard output and standard error."""

    def run(*options):
        monkeypatch.setattr("sys.stdin", io.StringIO("one two three\n"))
        data = STORED / "single" / "data-bin"
        status = main(["classify", str(STORED / "latent_tree_classifier.pt"), f"--data={data}",
                       *options])  # fmt: skip
        said = capsys.readouterr()
        errors = said.err.splitlines(keepends=True)  # kernels may be compiled here, which is said
        return status, said.out, "".join(one for one in errors if ": compiling" not in one)

    return run


@pytest.mark.parametrize("option", ["--output", "--trees"])
@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_nothing_is_written_under_the_ending_of_a_compressed_file(call, option, ending, tmp_path):
    status, text, error = call(f"{option}={tmp_path}/out{ending}")
    assert (status, text) == (2, "")
    what = "it would not be compressed; leave the ending out"
    assert error == f"error: {option} {tmp_path}/out{ending}: {what}\n"
    assert not (tmp_path / f"out{ending}").exists()


def test_results_have_somewhere_to_go(call, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdout", None)
    status, _, error = call()
    assert status == 2 and "nothing to write to: standard output is closed" in error
    assert call(f"--output={tmp_path / 'out'}")[0] == 0
    gold = tmp_path / "gold.conllu"
    gold.write_text(to_conllu(["a"], [0]))
    assert main(["evaluate", str(gold), str(gold)]) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_standard_output(call, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        status, _, error = call()
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    what = "standard output: cannot be written (No space left on device)"
    assert status == 2 and error == f"error: {what}\n"
