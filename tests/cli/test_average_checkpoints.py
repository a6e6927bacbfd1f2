"""``fairseq-struct average-checkpoints``: what it selects, writes and refuses."""

import os

import pytest
import torch
from small_checkpoints import save

from fairseq_struct import compat
from fairseq_struct.cli.main import main


def test_fairseq_loads_the_result(tmp_path, capsys):
    paths = [save(tmp_path / "a.pt", 1.0), save(tmp_path / "b.pt", 2.0)]
    output = tmp_path / "new" / "mean.pt"
    output.parent.mkdir()
    assert main(["average-checkpoints", "--inputs", *map(str, paths), "--output", str(output)]) == 0
    assert capsys.readouterr().out.startswith(f"{output}: mean of 2 checkpoints")

    compat.prepare()
    from fairseq import checkpoint_utils

    state = checkpoint_utils.load_checkpoint_to_cpu(str(output))
    assert state["model"]["embed.weight"].unique().tolist() == [1.5]
    assert os.listdir(output.parent) == ["mean.pt"]  # nothing temporary is left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--best=2", "--directory=.", "--by=updates"], "--by works only with --last"),
        (["--inputs=x", "--upper-bound=3"], "--upper-bound works only with --last"),
        (["--inputs=x", "--directory=."], "--directory works only with"),
        (["--last=2"], "--last and --best need --directory"),
    ],
)
def test_options_that_do_not_go_together_are_told(capsys, options, message):
    assert main(["average-checkpoints", *options, "--output=out.pt"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_too_few_name_the_option_that_keeps_them(tmp_path, capsys):
    (tmp_path / "checkpoint1.pt").touch()
    arguments = ["average-checkpoints", "--directory", str(tmp_path), "--output", "x.pt"]
    assert main([*arguments, "--last", "5"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path}: has 1 checkpoints by epochs, but 5 are needed")
    assert "--keep-last-epochs, after a preset with --epoch-checkpoints, too" in error
    assert main([*arguments, "--best", "1"]) == 2
    assert "--keep-best-checkpoints" in capsys.readouterr().err
    for update in range(4):
        (tmp_path / f"checkpoint_1_{update}.pt").touch()
    assert main([*arguments, "--last", "2"]) == 2
    error = capsys.readouterr().err
    assert "has 1 checkpoints by epochs and 4 by updates (--by updates), but 2 are" in error


def test_output_may_not_be_an_input(tmp_path, capsys):
    path = save(tmp_path / "a.pt", 1.0)
    assert main(["average-checkpoints", "--inputs", str(path), "--output", str(path)]) == 2
    assert "a.pt: is read, too; name another file" in capsys.readouterr().err


def test_output_is_checked_before_work(tmp_path, capsys):
    path = save(tmp_path / "a.pt", 1.0)
    (tmp_path / "b.pt").write_text("no checkpoint, which only reading tells")
    for output, message in ((tmp_path, "is a folder"), (tmp_path / "no" / "x", "no such folder")):
        command = ["average-checkpoints", "--inputs", path, tmp_path / "b.pt", "--output", output]
        assert main(list(map(str, command))) == 2
        assert message in capsys.readouterr().err


def test_failed_write_leaves_nothing(tmp_path, monkeypatch, capsys):
    path, output = save(tmp_path / "a.pt", 1.0), tmp_path / "out" / "mean.pt"
    output.parent.mkdir()

    def full_disk(state, file):
        file.write(b"half a file")
        with open("/dev/full", "wb") as full:
            os.dup2(full.fileno(), file.fileno())
        file.flush()

    monkeypatch.setattr(torch, "save", full_disk)
    assert main(["average-checkpoints", "--inputs", str(path), "--output", str(output)]) == 2
    assert "mean.pt: cannot be written (No space left" in capsys.readouterr().err
    assert os.listdir(output.parent) == []
