"""Checkpoints of trainings: complete even when the disk is full; a resume needs a complete one."""

import os
import re
import resource
import shutil

import pytest
import torch
from fairseq_commands import in_this_process
from killed_trainings import difference, in_child, state_of
from small_language_models import train

from fairseq_struct import compat, plugin
from fairseq_struct.errors import DamagedCheckpoint, InputError
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.hooks.trainer_checkpoints import newest_intact

OPTIONS = ["--optimizer=adam", "--lr=0.01", "--seed=4", "--save-interval-updates=4"]


@pytest.fixture(scope="module")
def trained(language_folder, tmp_path_factory):
    """A training of six updates that saved a checkpoint after four, too."""
    save_dir = tmp_path_factory.mktemp("trained")
    train(language_folder, save_dir, *OPTIONS, "--max-update=6")
    return save_dir


@pytest.fixture
def copied(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def test_a_torn_checkpoint_is_told_apart(language_folder, trained, copied, tmp_path):
    train(language_folder, tmp_path / "whole", *OPTIONS, "--max-update=10")
    last = copied / "checkpoint_last.pt"
    assert last.stat().st_size > 40_000  # for files of this length torch raises another error
    cut(last, 40_000)
    cut(copied / "checkpoint_best.pt", 100)
    output = train(language_folder, copied, *OPTIONS, "--max-update=10")
    assert f"{last}: not a checkpoint, or a truncated one; continuing from " in output
    assert f"continuing from {copied / 'checkpoint_1_4.pt'}, the newest intact" in output
    found = difference(
        *(state_of(run / "checkpoint_last.pt") for run in (tmp_path / "whole", copied))
    )
    assert found is None


def test_a_torn_checkpoint_alone_is_no_reason_to_begin_again(language_folder, copied):
    for path in copied.iterdir():
        cut(path, 5000)
    before = contents(copied)
    with pytest.raises(InputError, match=r"has no other intact checkpoint"):
        train(language_folder, copied, *OPTIONS, "--max-update=10")
    assert contents(copied) == before


def test_nothing_stands_in_for_a_file_that_was_named(language_folder, copied):
    cut(copied / "checkpoint_best.pt", 5000)
    with pytest.raises(DamagedCheckpoint, match=r"checkpoint_best\.pt: not a checkpoint"):
        train(language_folder, copied, *OPTIONS, "--max-update=10",
              f"--restore-file={copied / 'checkpoint_best.pt'}")  # fmt: skip


def test_the_newest_has_the_most_updates(trained, copied):
    os.utime(copied / "checkpoint_1_4.pt", (2**31, 2**31))  # the date of a file is not used
    (copied / "checkpoint_last.pt").rename(copied / "checkpoint7.pt")
    (copied / "checkpoint_best.pt").unlink()
    (copied / "checkpoint8.pt").write_bytes(b"PK\x03\x04")
    torch.save({"model": {}}, copied / "checkpoint9.pt")
    torch.save([1], copied / "checkpoint10.pt")
    (copied / "notes.pt").write_text("mine")
    assert newest_intact(copied) == copied / "checkpoint7.pt"
    assert newest_intact(copied, but="checkpoint7.pt").name == "checkpoint_1_4.pt"


@pytest.mark.parametrize("old_format", [False, True], ids=["zip", "before-zip"])
def test_every_cut_is_a_damaged_checkpoint(trained, tmp_path, old_format):
    compat.prepare()
    from fairseq import checkpoint_utils

    state = torch.load(trained / "checkpoint_last.pt", weights_only=True)
    path = tmp_path / "cut.pt"
    torch.save(state, path, _use_new_zipfile_serialization=not old_format)
    whole = path.read_bytes()
    sizes = {0, 1, 2, 3, 100, 8_191, 8_192, 8_193, 65_535, 65_537, len(whole) - 1}
    cuts = [whole[:size] for size in sorted({*sizes, *range(0, len(whole), len(whole) // 40)})]
    # A crash of the machine may leave a file at full size, with zeros where nothing was written.
    zeros = [whole[:size] + bytes(len(whole) - size) for size in (0, 100, 8_192, len(whole) // 2)]
    for content in [*cuts, *(zeros if not old_format else zeros[:1])]:
        path.write_bytes(content)
        for load in (
            compat.load_state,
            lambda name: checkpoint_utils.load_checkpoint_to_cpu(str(name)),
        ):
            with pytest.raises(DamagedCheckpoint, match=r"cut\.pt: not a checkpoint"):
                load(path)


@pytest.mark.parametrize(
    ("option", "name", "hint"),
    [
        ("--restore-file", "missing.pt", ""),
        ("--restore-file", "checkpoint_1_4.pt", r"; did you mean .*run/checkpoint_1_4\.pt\?"),
        ("--finetune-from-model", "missing.pt", ""),
        ("--continue-once", "missing.pt", ""),
    ],
)
def test_a_missing_file_that_was_named_is_an_error(language_folder, copied, option, name, hint):
    if option != "--restore-file":  # these options matter only at the first start
        (copied / "checkpoint_last.pt").unlink()
    before = contents(copied)
    with pytest.raises(InputError, match=rf"^{name}: no such file \({option}\){hint}$"):
        train(language_folder, copied, *OPTIONS, "--max-update=10", f"{option}={name}")
    assert contents(copied) == before


@pytest.mark.parametrize(
    ("option", "how"),
    [
        ("--optimizer=sgd", "with --optimizer adam; give the same, or --reset-optimizer begins"),
        ("--memory-efficient-fp16", "without --memory-efficient-fp16 or .*-bf16; leave that out"),
    ],
)
def test_another_optimizer_is_named(language_folder, copied, option, how):
    with pytest.raises(InputError, match=rf"run/checkpoint_last\.pt: it was trained {how}"):
        train(language_folder, copied, *OPTIONS, "--max-update=10", option)


@pytest.mark.parametrize("option", ["--restore-file", "--finetune-from-model", "--continue-once"])
def test_another_model_is_told_from_this_one(language_folder, trained, tmp_path, option):
    path = trained / "checkpoint_last.pt"
    message = rf"{re.escape(str(path))}: its model is another one \(size mismatch for .*\)$"
    with pytest.raises(InputError, match=message):
        train(language_folder, tmp_path, *OPTIONS, option, path, "--hidden-size=24")


def test_a_finished_training_makes_no_update_more(language_folder, copied):
    before = contents(copied)
    output = train(language_folder, copied, *OPTIONS, "--max-update=6")
    assert "nothing to train: 6 updates are done, and --max-update is 6" in output
    assert contents(copied) == before


def test_a_full_disk_leaves_every_checkpoint_as_it_was(language_folder, copied):
    def train_with_little_room(save_dir):
        limit = (copied / "checkpoint_last.pt").stat().st_size // 2
        highest = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, highest))
        train(language_folder, save_dir, *OPTIONS, "--max-update=10")

    before = contents(copied)
    status, _, complaint = in_child(train_with_little_room, copied)
    assert status == 1
    name = copied / "checkpoint_1_8.pt"
    assert complaint.splitlines()[-1].endswith(
        f"InputError: {name}: cannot be written (File too large)"
    )
    assert "During handling" not in complaint
    assert contents(copied) == before


@pytest.mark.parametrize("number", [1, 2, 5, 9])
def test_ctrl_c_while_a_checkpoint_is_written(number, tmp_path):
    """torch ends its archive also then, which fails with an error of its own."""

    class Interrupted:
        def __init__(self, file):
            self.file, self.left = file, number

        def write(self, some):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return self.file.write(some)

        def flush(self):
            self.file.flush()

    path = tmp_path / "checkpoint_last.pt"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        torch.save({"a": torch.zeros(3), "b": [torch.zeros(5), 1]}, Interrupted(file))
    assert contents(tmp_path) == {path.name: b"before"}


def test_no_room_for_the_copy(language_folder, copied, monkeypatch):
    plugin.load()
    from fairseq import checkpoint_utils

    def fill(source, target):
        with open("/dev/full", "wb") as full:
            os.dup2(full.fileno(), target.fileno())
        target.write(source.read())

    monkeypatch.setattr(shutil, "copyfileobj", fill)
    before = contents(copied)
    with pytest.raises(InputError, match=r"checkpoint_last\.pt: cannot be written \(No space left"):
        checkpoint_utils.PathManager.copy(
            str(copied / "checkpoint_1_4.pt"), str(copied / "checkpoint_last.pt"), overwrite=True
        )
    assert contents(copied) == before
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"self/mem: cannot be read \(Input/output"):
        checkpoint_utils.PathManager.copy("/proc/self/mem", str(copied / "checkpoint_last.pt"))
    assert contents(copied) == before


def test_what_a_checkpoint_s_link_leads_to_stays(language_folder, copied):
    last, other = copied / "checkpoint_last.pt", copied / "checkpoint_1_4.pt"
    last.unlink()
    last.symlink_to(other.name)
    before = other.read_bytes()
    train(language_folder, copied, *OPTIONS, "--max-update=6")
    assert not last.is_symlink() and other.read_bytes() == before
    assert state_of(last)["optimizer_history"][0]["num_updates"] == 6


def test_asynchronous_writing_is_off(language_folder, tmp_path, monkeypatch):
    """fairseq would write into the file itself, and leave out the last and the best checkpoint."""
    import types

    monkeypatch.setitem(__import__("sys").modules, "iopath", types.ModuleType("iopath"))
    with in_this_process():
        output = train(language_folder, tmp_path, *OPTIONS, "--max-update=2",
                       "--write-checkpoints-asynchronously")  # fmt: skip
    assert "--write-checkpoints-asynchronously is ignored" in output
    assert {"checkpoint_last.pt", "checkpoint_best.pt"} <= set(os.listdir(tmp_path))


def test_a_file_keeps_its_permissions(tmp_path):
    path, new = tmp_path / "file", tmp_path / "new"
    new.touch()
    default = new.stat().st_mode
    for mode in (0o600, 0o444, 0o664):
        path.write_text("old")
        path.chmod(mode)
        with whole_file(path) as file:
            assert (tmp_path / "file.tmp").stat().st_mode & 0o777 == mode  # nor is it laid open
            file.write(b"new")
        assert path.read_text() == "new" and path.stat().st_mode & 0o777 == mode
        path.unlink()
    (tmp_path / "file.tmp").touch(0o400)  # of a killed process
    with whole_file(path) as file:
        file.write(b"new")
    assert path.stat().st_mode == default
    link = tmp_path / "link"
    path.chmod(0o600)
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write(b"newer")
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    with whole_file(link, through_link=False) as file:
        file.write(b"newest")
    assert not link.is_symlink() and link.stat().st_mode == default


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    (tmp_path / "file.tmp").write_text("of a killed process, and longer")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(KeyError), whole_file(path) as file:
        file.write(b"half")
        raise KeyError
    with pytest.raises(InputError, match=r"cannot be written \(No such file"):
        with whole_file(tmp_path / "missing" / "file"):
            pass
    assert os.listdir(tmp_path) == ["file"] and path.read_text() == "new"


def test_two_writers_of_a_file_do_not_meet(tmp_path):
    path = tmp_path / "file"
    with whole_file(path) as first:
        first.write(b"first, and longer")
        with whole_file(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        with pytest.raises(KeyError), whole_file(path):
            raise KeyError
    assert path.read_bytes() == b"first, and longer" and os.listdir(tmp_path) == ["file"]
