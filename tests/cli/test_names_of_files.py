"""Files that commands name in their errors: empty names, folders, and files without words."""

import shlex
from pathlib import Path

import pytest

from fairseq_struct import presets
from fairseq_struct.cli.main import main
from fairseq_struct.cli.training.train import _arguments


@pytest.mark.parametrize(
    "words",
    [
        ["prepare", "plain_text", "x", "x", "x", ""], ["train", "", "--preset=udgn_tiny"],
        ["parse", ""], ["parse", "x", "--gold="], ["export", "x", ""], ["evaluate", "", "x"],
    ],
)  # fmt: skip
def test_an_empty_name_is_not_the_current_folder(words, tmp_path, monkeypatch, capsys):
    """It comes from a variable of the shell that is not set."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and not any(tmp_path.iterdir())
    assert "an empty name of a file or folder" in capsys.readouterr().err


def test_a_file_of_punctuation_and_a_folder_are_told_by_name(tmp_path, capsys):
    (tmp_path / "c").write_text("1\t.\t.\tPUNCT\t_\t_\t0\troot\t_\t_\n")
    name = str(tmp_path / "c")
    assert main(["prepare", "dependency_treebank", "conllu", *[name] * 3, str(tmp_path / "o")]) == 2
    error = capsys.readouterr().err
    assert error == f"error: {name}: has only punctuation, which --as-is would keep\n"
    files = [f"--{split}-file={tmp_path}" for split in ("train", "valid", "test")]
    assert main(["prepare", "labelled_text", "plain", *files, str(tmp_path / "o")]) == 2
    error = capsys.readouterr().err
    assert error == f"error: {tmp_path}: is a folder, not a file (the train split of plain)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_name_with_a_dash_is_no_option_in_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = ["prepare", "dependency_treebank", "generated", "--sentences", "9", "3", "3"]
    assert main([*made, "--", "-a b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = dict(line.split(": ", 1) for line in lines if ": " in line)
    words = {name: shlex.split(line) for name, line in said.items()}
    assert words["train"][2] == "./-a b" and "./-a b/text/test.txt" in words["parse"]
    assert words["evaluate"][2] == "./-a b/trees/test.conllu"
    arguments = _arguments(presets.preset("udgn_tiny"), Path(words["train"][2]), [])
    assert arguments[0] == str(tmp_path / "-a b" / "data-bin")
    treebank = presets.value_of("treebank", arguments)
    assert treebank == str(tmp_path / "-a b" / "trees" / "valid.conllu")
