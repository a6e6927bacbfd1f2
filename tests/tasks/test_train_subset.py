"""The split that is trained on may have any name (``--train-subset``)."""

import pytest
import torch
from fairseq_commands import run
from mapped_splits import drawn_lines, task, write_folder
from small_runs import OPTIONS, TASKS

from fairseq_struct import plugin
from fairseq_struct.tasks.shared.strict_task import StrictTask


@pytest.mark.parametrize("name", TASKS)
def test_another_name_changes_no_weight(name, tmp_path):
    lines = drawn_lines(40, ended=name != TASKS[2])
    if name == TASKS[2]:
        lines = [(line, line[::-1]) for line in lines]
    folder = write_folder(tmp_path / "data-bin", lines, [4 + n % 2 for n in range(40)]
                          if name == TASKS[2] else None)  # fmt: skip

    def train(place, *options):
        run("train", folder, f"--save-dir={tmp_path / place}", "--optimizer=adam", "--lr=0.01",
            "--max-epoch=2", "--disable-validation", "--no-epoch-checkpoints", *OPTIONS[name],
            *options)  # fmt: skip
        return torch.load(tmp_path / place / "checkpoint_last.pt", weights_only=True)["model"]

    named = train("train")
    for path in folder.glob("train.*"):
        path.rename(path.with_name(path.name.replace("train", "few")))
    other = train("few", "--train-subset=few")
    tensors = [key for key, value in named.items() if isinstance(value, torch.Tensor)]
    assert tensors and all(torch.equal(named[key], other[key]) for key in tensors)


def test_a_split_is_trained_on_where_the_command_line_says_so(tmp_path):
    folder = write_folder(tmp_path / "data-bin", drawn_lines(4))
    assert task(TASKS[1], folder).trains_on("train")  # as without a command line
    owner = task(TASKS[1], folder, train_subset="few")
    assert owner.trains_on("few") and not owner.trains_on("train")


def test_every_task_knows_the_name():
    plugin.load()
    from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

    own = {name for name, one in TASK_REGISTRY.items() if issubclass(one, StrictTask)}
    knowing = {name for name in own if hasattr(TASK_DATACLASS_REGISTRY[name], "train_subset")}
    assert own - knowing == {"craft_reinforcement"}  # reads no split
