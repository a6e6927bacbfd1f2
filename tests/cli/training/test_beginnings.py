"""What a training begins with: what is said of it, what is refused, and when its settings count."""

import json

import pytest
import torch

from fairseq_struct.cli.training.beginnings import Beginning
from fairseq_struct.cli.training.kept_settings import FILE, keep
from fairseq_struct.errors import InputError


@pytest.fixture
def held(tmp_path):
    """A folder that holds a training."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoint_last.pt").write_bytes(b"old")
    keep(folder, {"--layers": "1"})
    return folder


@pytest.mark.parametrize(
    ("options", "told", "told_elsewhere"),
    [
        ("--lr 1", ["going on from {last}"], []),
        ("--restore-file checkpoint_last.pt", ["going on from {last}"], []),
        ("--restore-file a.pt", ["beginning from a.pt"], ["beginning from a.pt"]),
        ("--reset-meters", ["going on from {last}"], []),
        ("--continue-once a.pt", ["going on from {last}"], ["beginning from a.pt"]),
        (
            "--finetune-from-model a.pt",
            ["--finetune-from-model is not used: {folder} already holds a training",
             "going on from {last}"],
            ["beginning from a.pt"],
        ),
    ],
)  # fmt: skip
def test_what_is_said(held, tmp_path, options, told, told_elsewhere):
    names = {"folder": held, "last": held / "checkpoint_last.pt"}
    assert Beginning(held, options.split()).told() == [line.format(**names) for line in told]
    assert Beginning(tmp_path / "new", options.split()).told() == told_elsewhere


def test_whose_updates_count(held, tmp_path):
    for options, counts, counts_elsewhere in (
        ([], True, False),
        (["--restore-file=a.pt"], True, True),
        (["--continue-once=a.pt"], True, True),
        (["--finetune-from-model=a.pt"], True, False),
    ):
        assert Beginning(held, options).counts == counts
        assert Beginning(tmp_path / "new", options).counts == counts_elsewhere


@pytest.mark.parametrize("options", [["--reset-optimizer"], ["--reset-meters", "--restore-file=b"]])
def test_a_finetuned_model_goes_with_no_other_beginning(held, tmp_path, options):
    for folder in (held, tmp_path / "new"):
        with pytest.raises(InputError, match=r"--finetune-from-model does not go with --r.*: it a"):
            Beginning(folder, ["--finetune-from-model=a.pt", *options]).check()


def test_a_model_to_begin_with_exists(held, tmp_path):
    options = [f"--finetune-from-model={tmp_path / 'a.pt'}"]
    for folder in (held, tmp_path / "new"):
        with pytest.raises(InputError, match=r"a\.pt: no such file \(--finetune-from-model\)$"):
            Beginning(folder, options).check()
        with pytest.raises(InputError, match=r"run: a folder .*an export cannot be trained on"):
            Beginning(folder, [f"--finetune-from-model={held}"]).check()
    (tmp_path / "a.pt").touch()
    Beginning(held, options).check()
    Beginning(held, ["--reset-optimizer"]).check()


def test_a_missing_last_checkpoint_is_another_one(tmp_path):
    for name, updates in (("checkpoint_best.pt", 5), ("checkpoint1.pt", 3)):
        torch.save({"optimizer_history": [{"num_updates": updates}]}, tmp_path / name)
    (tmp_path / "checkpoint2.pt").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"holds checkpoint1\.pt, .*\.pt, but no checkpoint_last"):
        Beginning(tmp_path, ["--no-last-checkpoints"]).check()
    other = Beginning(tmp_path, ["--restore-file=a.pt"])
    assert other.restore_last() == []
    last = tmp_path / "checkpoint_last.pt"
    assert other.held and not other.goes_on and not last.exists()
    beginning = Beginning(tmp_path, [])
    beginning.check()
    assert beginning.told() == [f"going on from {last}"]
    assert beginning.restore_last() == [
        f"{last} was missing and is now a copy of checkpoint_best.pt"
    ]
    assert last.read_bytes() == (tmp_path / "checkpoint_best.pt").read_bytes()
    assert Beginning(tmp_path, []).told() == [f"going on from {last}"]


def test_without_any_intact_checkpoint_nothing_begins(tmp_path):
    (tmp_path / "checkpoint_best.pt").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"no training can go on from another \(.*or a truncated"):
        Beginning(tmp_path, []).restore_last()
    torch.save({"model": {}}, tmp_path / "checkpoint_best.pt")
    with pytest.raises(InputError, match=r"\(checkpoint_best\.pt: of no training\): name another"):
        Beginning(tmp_path, []).restore_last()


def test_stepping_back_is_told(held):
    line = (
        f"2026-01-01 00:00:00 | WARNING | fairseq_struct.hooks.trainer_checkpoints | {held}/"
        f"checkpoint_last.pt: not a checkpoint, or a truncated one; continuing from {held}/"
        "checkpoint_best.pt, the newest intact checkpoint"
    )
    told = []
    assert list(Beginning(held, []).watched(["begun", line], {}, told.append))[1] == line
    assert told == [line.rpartition(" | ")[2]]


def settings_in(folder):
    return json.loads((folder / FILE).read_text())


def test_settings_are_replaced_with_the_checkpoint(held):
    beginning = Beginning(held, ["--reset-optimizer"])
    beginning.begin()
    lines = beginning.watched(iter(["begun", "saved", "more"]), {"--layers": "2"})
    assert next(lines) == "begun"
    assert settings_in(held) == {"--layers": "1"} and not beginning.has_saved()
    (held / "new").write_bytes(b"new")
    (held / "new").rename(held / "checkpoint_last.pt")
    assert next(lines) == "saved"
    assert settings_in(held) == {"--layers": "2"} and beginning.has_saved()


def test_settings_are_replaced_without_a_further_line(held):
    (held / "new").write_bytes(b"new")
    beginning = Beginning(held, [])
    beginning.begin()
    lines = beginning.watched(iter(["begun"]), {"--layers": "2"})
    next(lines)
    (held / "new").rename(held / "checkpoint_last.pt")
    assert list(lines) == [""] and settings_in(held) == {"--layers": "2"}


def test_settings_of_a_training_without_checkpoints_are_not_kept(held):
    beginning = Beginning(held, ["--reset-optimizer"])
    (held / "new").write_bytes(b"new")
    (held / "new").rename(held / "checkpoint_last.pt")  # by a training that still runs there
    list(beginning.watched(["refused"], {"--layers": "2"}))
    beginning.begin()
    list(beginning.watched(["begun"], {"--layers": "2"}))
    assert settings_in(held) == {"--layers": "1"} and not beginning.has_saved()


@pytest.mark.parametrize(
    ("further", "why"),
    [
        (["x | nothing to train: 6 updates are done, and --max-update is 6"],
         "6 updates are done, and --max-update is 6"),
        (["x | stopping training because current learning rate (0.1) is"],
         "current learning rate (0.1) is"),
        ([], "epoch 3 would be next (--max-epoch)"),
    ],
)  # fmt: skip
def test_why_nothing_was_left(held, further, why):
    beginning = Beginning(held, [])
    assert beginning.nothing_left() is None
    loaded = f"x | Loaded checkpoint {held}/checkpoint_last.pt (epoch 3 @ 6 updates)"
    list(beginning.watched([loaded, *further], {}))
    assert beginning.nothing_left() == why
