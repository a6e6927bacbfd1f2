"""The data of a checkpoint are found from any folder, and after both were moved together."""

import shutil

import pytest
import torch
from fairseq.data import Dictionary
from fairseq_commands import run
from stored_models import STORED

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_data import data_of_training, with_whole_paths
from fairseq_struct.inference.restoring import restore
from fairseq_struct.models.shared.trained_composer import read_composer
from fairseq_struct.user_dir import FOLDER

TRAINING = ["--arch=udgn", "--task=structured_masked_lm", "--criterion=structured_masked_lm",
            "--embed-dim=8", "--layers=1", "--parser-size=8", "--parser-layers=1", "--channels=2",
            "--channel-size=4", "--max-tokens=80", "--valid-draws=1", "--max-update=1", "--cpu",
            "--optimizer=adam", "--lr=0.001", "--num-workers=0", "--no-epoch-checkpoints",
            f"--user-dir={FOLDER}"]  # fmt: skip


def stored_in(path, data, save_dir):
    """A checkpoint at a path that says that it was trained on data, and kept in save_dir."""
    state = torch.load(STORED / "udgn.pt", weights_only=True)
    state["cfg"]["task"]["data"], state["cfg"]["checkpoint"]["save_dir"] = data, str(save_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path


@pytest.fixture
def project(tmp_path):
    """A folder with data in it."""
    shutil.copytree(STORED / "language" / "data-bin", tmp_path / "a" / "trees" / "data-bin")
    return tmp_path / "a"


def test_relative_paths_are_those_of_the_checkpoint(project, tmp_path, monkeypatch):
    path = stored_in(project / "runs" / "x" / "checkpoint_best.pt", "trees/data-bin", "runs/x")
    other = tmp_path / "trees" / "data-bin"  # other data at the same relative path
    other.mkdir(parents=True)
    (other / "dict.txt").write_text("a 3\n")
    monkeypatch.chdir(tmp_path)
    for name in (path, path.relative_to(tmp_path)):
        assert restore(name).task.cfg.data == str(project / "trees" / "data-bin")
    # A file that was copied elsewhere has no data beside it: those of the working folder count.
    alone = shutil.copy(path, tmp_path / "x.pt")
    monkeypatch.chdir(project)
    assert restore(alone).task.cfg.data == "trees/data-bin"


def test_moved_folders_are_found_again(project, tmp_path):
    data = str(project / "trees" / "data-bin")
    stored_in(project / "runs" / "x" / "a.pt", data, project / "runs" / "x")
    moved = project.rename(tmp_path / "b")
    restored = restore(moved / "runs" / "x" / "a.pt")
    assert restored.task.cfg.data == str(moved / "trees" / "data-bin")


def test_missing_data_are_told_with_the_option_and_the_places(project, tmp_path, capsys):
    data = str(project / "none" / "data-bin")
    path = stored_in(tmp_path / "b" / "runs" / "x" / "a.pt", data, project / "runs" / "x")
    assert main(["parse", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {path}: it needs the folder of data that it was trained on, but there is no "
        f"folder {data} or {tmp_path}/b/none/data-bin; name it (--data FOLDER, data= in "
        "Python)\n"
    )


def test_several_folders_have_their_dictionaries_in_the_first(tmp_path):
    cfg = {"task": {"data": f"{tmp_path}:/elsewhere"}, "checkpoint": {"save_dir": "x"}}
    assert data_of_training(cfg, "x.pt") == tmp_path


def test_options_get_whole_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cfg = {"task": {"data": "a:/b", "x": 1}, "checkpoint": {"save_dir": "runs"}, "model": None}
    assert with_whole_paths(cfg) == {
        "task": {"data": f"{tmp_path}/a:/b", "x": 1},
        "checkpoint": {"save_dir": f"{tmp_path}/runs"},
        "model": None,
    }
    assert cfg["task"]["data"] == "a:/b"
    for data in (None, "", "s3://bucket/data"):
        cfg = {"task": {"data": data}}
        assert with_whole_paths(cfg) == cfg


def test_a_training_on_a_relative_folder(project, tmp_path, monkeypatch):
    """Data relative, checkpoints elsewhere; it can be used from any folder, and goes on."""
    monkeypatch.chdir(project)
    runs = tmp_path / "far" / "runs"
    said = run("train", "trees/data-bin", *TRAINING, f"--save-dir={runs}")
    assert "done training" in said
    path = runs / "checkpoint_last.pt"
    monkeypatch.chdir(tmp_path)
    assert restore(path).task.cfg.data == str(project / "trees" / "data-bin")
    monkeypatch.chdir(project)
    run("train", "trees/data-bin", *TRAINING, f"--save-dir={runs}", "--max-update=2")
    assert restore(path).facts["updates"] == 2


def test_a_moved_composer_is_found(tmp_path):
    state = torch.load(STORED / "rim_composer.pt", weights_only=True)
    state["cfg"]["task"]["data"], state["cfg"]["checkpoint"]["save_dir"] = "lists/data-bin", "run"
    shutil.copytree(STORED / "lists" / "data-bin", tmp_path / "lists" / "data-bin")
    for name in ("run", "alone/run"):
        (tmp_path / name).mkdir(parents=True)
        torch.save(state, tmp_path / name / "a.pt")
    words = Dictionary()
    assert read_composer(str(tmp_path / "run" / "a.pt"), "--composer-from", words)
    with pytest.raises(InputError, match=r"name it \(--composer-data FOLDER\)"):
        read_composer(str(tmp_path / "alone" / "run" / "a.pt"), "--composer-from", words)


def test_a_prepared_folder_serves_as_its_data_bin(project):
    """As for ``fairseq-struct train``."""
    prepared, inside = project / "trees", project / "trees" / "data-bin"
    found = [restore(STORED / "udgn.pt", data).task.cfg.data for data in (prepared, inside)]
    assert found == [str(inside)] * 2
