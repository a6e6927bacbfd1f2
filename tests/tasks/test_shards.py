"""Training data in several folders: each epoch reads one, and a resumed run goes on within it."""

import pytest
import torch
from fairseq_commands import run
from mapped_splits import drawn_lines, task, write_folder
from small_runs import OPTIONS, TASKS

from fairseq_struct.data.datasets.mapped.shards import check_shards, shard
from fairseq_struct.errors import InputError

SHARDS, COUNT = 3, 25


def make(name, folder, number):
    """A shard of its own size, with its own sentences."""
    count = COUNT + number
    if name != TASKS[2]:
        return write_folder(folder, drawn_lines(count, number))
    sides = (drawn_lines(count, 10 * number + side, ended=False) for side in (1, 2))
    pairs = list(zip(*sides, strict=True))
    return write_folder(folder, pairs, [4 + n % 2 for n in range(count)])


@pytest.fixture(params=TASKS)
def sharded(request, tmp_path):
    """The name of a task, and folders of it."""
    name = request.param
    return name, [make(name, tmp_path / f"data-bin{n}", n) for n in range(SHARDS)]


def joined(folders):
    return ":".join(map(str, folders))


def test_epochs_read_one_folder_after_another_and_validation_the_first(sharded):
    name, folders = sharded
    owner, alone = task(name, joined(folders)), [task(name, folder) for folder in folders]

    def first_batch(one, split, epoch=1):
        one.load_dataset(split, epoch=epoch)
        data = one.dataset(split)
        return str(data.collater([data[0]]))

    wanted = [first_batch(one, "train") for one in alone]
    assert len(set(wanted)) == SHARDS and owner.has_sharded_data("train")
    assert [first_batch(owner, "train", epoch) for epoch in range(1, 6)] == [*wanted, *wanted[:2]]
    assert first_batch(owner, "valid") == first_batch(alone[0], "valid")


def test_a_run_that_stopped_within_a_shard_goes_on_there(sharded, tmp_path):
    name, folders = sharded

    def train(place, *options):
        run("train", joined(folders), f"--save-dir={tmp_path / place}", "--optimizer=adam",
            "--lr=0.01", "--disable-validation", "--no-epoch-checkpoints", *OPTIONS[name],
            *options)  # fmt: skip
        return torch.load(tmp_path / place / "checkpoint_last.pt", weights_only=True)

    stopped = train("parts", f"--max-update={len_of_epoch(name, folders) + 2}")
    at = stopped["extra_state"]["train_iterator"]
    assert (at["epoch"], at["iterations_in_epoch"]) == (2, 2)
    parts, whole = train("parts", "--max-epoch=4"), train("whole", "--max-epoch=4")
    updates = [one["optimizer_history"][-1]["num_updates"] for one in (parts, whole)]
    assert updates[0] == updates[1] > 8
    tensors = {k: v for k, v in whole["model"].items() if isinstance(v, torch.Tensor)}
    assert tensors and all(torch.equal(parts["model"][k], v) for k, v in tensors.items())


def len_of_epoch(name, folders):
    """Updates of the first epoch."""
    windows = {"tokens_per_sample": 12} if name == TASKS[0] else {}
    owner = task(name, folders[0], seed=1, **windows)  # the seed of fairseq-train
    owner.load_dataset("train")
    tokens, sentences = (120, None) if name == TASKS[1] else (None, 4 if name == TASKS[0] else 6)
    return len(owner.get_batch_iterator(owner.dataset("train"), tokens, sentences))


def test_folders_that_do_not_fit_are_refused_before_training(sharded, tmp_path):
    name, folders = sharded
    with pytest.raises(InputError, match=r"nowhere: no such folder, but it is one of"):
        task(name, joined([*folders, tmp_path / "nowhere"]))
    words = folders[1] / "dict.txt"
    words.write_text(words.read_text() + "more 1\n")
    with pytest.raises(InputError, match=r"bin1.dict\.txt: differs from .*bin0.dict\.txt"):
        task(name, joined(folders))
    words.unlink()  # a shard needs no dictionary
    task(name, joined(folders))
    (index,) = folders[2].glob("train.sentence1.idx" if name == TASKS[2] else "train.idx")
    whole = index.read_bytes()
    index.write_bytes(whole[:-1])
    with pytest.raises(InputError, match=r"bin2.train[\w.]*, .bin: damaged; prepare"):
        task(name, joined(folders))
    index.write_bytes(whole)
    content = index.with_suffix(".bin")
    content.rename(content.with_suffix(".hidden"))
    with pytest.raises(InputError, match=r"bin2.train[\w.]*\.bin: no such file, but .*bin0 has"):
        task(name, joined(folders))
    content.with_suffix(".hidden").rename(content)
    index.unlink()
    with pytest.raises(InputError, match=r"bin2.train\.[\w.]*idx: no such file, but .*bin0 has"):
        task(name, joined(folders))


def test_one_folder_is_taken_as_it_is(tmp_path):
    check_shards(str(tmp_path / "nowhere"), ["dict.txt"])
    assert [str(shard("a:b", epoch)) for epoch in (1, 2, 3)] == ["a", "b", "a"]
    assert {str(shard("a", epoch)) for epoch in (1, 2, 3)} == {"a"}


def test_gold_heads_are_for_one_folder(tmp_path):
    folders = [make(TASKS[2], tmp_path / f"data-bin{n}", n) for n in range(2)]
    with pytest.raises(InputError, match="--heads-path is for data in one folder"):
        task(TASKS[2], joined(folders), heads_path=str(tmp_path / "gold.conllu"))
