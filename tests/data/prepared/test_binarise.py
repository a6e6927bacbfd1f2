"""Binarised text is that of fairseq-preprocess, byte for byte."""

import random

import pytest
from fairseq.binarizer import FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary, data_utils
from fairseq.tasks.fairseq_task import FairseqTask
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask

from fairseq_struct.data.prepared import binarise as module
from fairseq_struct.data.prepared.binarise import Side, binarise
from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.prepared.streams.journal import Journal
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")
# Equally frequent words of several scripts, fairseq's own padding, and words that look odd in a
# dictionary's file.
WORDS = ["a", "b", "B", "é", "日本", "<unk>", "madeupword0001", "#fairseq:overwrite", "7", "😀"]


def write_text(path, count, words, seed=1):
    draw = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (" ".join(draw.choices(words, k=draw.randrange(0, 9))) for _ in range(count))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def by_fairseq(folder, out, sides, joined):
    """What fairseq-preprocess does, by its own functions."""
    texts = [str(folder / side.text.format("train")) for side in sides]
    groups = [texts] * len(sides) if joined else [[text] for text in texts]
    out.mkdir()
    for side, group in zip(sides, groups, strict=True):
        dictionary = FairseqTask.build_dictionary(group, padding_factor=8)
        dictionary.save(str(out / side.dictionary))
        for split in SPLITS:
            FileBinarizer.multiprocess_dataset(
                str(folder / side.text.format(split)), "mmap",
                VocabularyDatasetBinarizer(dictionary, append_eos=True),
                str(out / side.data.format(split)), vocab_size=len(dictionary), num_workers=1,
            )  # fmt: skip


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("joined", [False, True], ids=["separate", "joined"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bytes(joined, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LINES", 11)
    monkeypatch.setattr(module, "_SIZES", 7)
    sides = [Side(f"text/{{}}.{x}", f"{{}}.x-y.{x}", f"dict.{x}.txt") for x in ("x", "y")]
    for number, side in enumerate(sides):
        for split, count in zip(SPLITS, (60, 13, 1), strict=True):
            words = WORDS[number : 9 + number] + (["unseen"] if split == "test" else [])
            write_text(tmp_path / side.text.format(split), count, words, number)
    binarise(Journal(tmp_path, "toy"), sides, joined=joined, workers=workers)
    by_fairseq(tmp_path, tmp_path / "fairseq", sides, joined)
    assert contents(tmp_path / "data-bin") == contents(tmp_path / "fairseq")


def test_large_dictionaries(tmp_path):
    side = Side("{}.txt", "{}", "dict.txt")
    for split in SPLITS:
        write_text(tmp_path / f"{split}.txt", 20, [f"w{n}" for n in range(100)])
    with (tmp_path / "train.txt").open("a") as file:
        file.writelines(f"w{n} w{n + 1}\n" for n in range(0, 66000, 2))
    binarise(Journal(tmp_path, "toy"), [side])
    by_fairseq(tmp_path, tmp_path / "fairseq", [side], joined=False)
    assert contents(tmp_path / "data-bin") == contents(tmp_path / "fairseq")


def test_shards_are_the_training_text_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LINES", 2)
    for split, count in zip(SPLITS, (25, 9, 9), strict=True):
        write_text(tmp_path / "in" / split, count, WORDS)
    files = {split: tmp_path / "in" / split for split in SPLITS}
    one, three = tmp_path / "one", tmp_path / "three"
    write_language_folder(files, one)
    manifest = write_language_folder(files, three, shards=3, workers=2)
    assert manifest["options"] == {"shards": 3}
    names = [f"data-bin{number}" for number in range(3)]
    assert sorted(path.name for path in three.iterdir() if path.is_dir()) == [*names, "text"]
    for name in ("dict.txt", "valid.bin", "valid.idx", "test.bin", "test.idx"):
        assert (three / "data-bin0" / name).read_bytes() == (one / "data-bin" / name).read_bytes()
    assert sorted(contents(three / "data-bin1")) == ["dict.txt", "train.bin", "train.idx"]
    numbers = [(three / name / "train.bin").read_bytes() for name in names]
    assert b"".join(numbers) == (one / "data-bin" / "train.bin").read_bytes()
    dictionary = Dictionary.load(str(one / "data-bin" / "dict.txt"))
    whole = data_utils.load_indexed_dataset(str(one / "data-bin" / "train"), dictionary)
    parts = [data_utils.load_indexed_dataset(str(three / name / "train"), dictionary)
             for name in names]  # fmt: skip
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert [x.tolist() for part in parts for x in part] == [x.tolist() for x in whole]


def test_fairseq_trains_on_one_shard_after_the_other(tmp_path):
    for split, count in zip(SPLITS, (20, 5, 5), strict=True):
        write_text(tmp_path / "in" / split, count, WORDS)
    files = {split: tmp_path / "in" / split for split in SPLITS}
    write_language_folder(files, tmp_path / "out", shards=2)
    data = ":".join(str(tmp_path / "out" / f"data-bin{number}") for number in range(2))
    config = LanguageModelingConfig(
        data=data, tokens_per_sample=1000, sample_break_mode="none", dataset_impl=None, seed=1,
        use_plasma_view=False, pad_to_fixed_length=False
    )
    task = LanguageModelingTask.setup_task(config)
    found = {}
    for split, epoch in (("train", 1), ("train", 2), ("train", 3), ("valid", 1)):
        task.load_dataset(split, epoch=epoch)
        found[split, epoch] = task.dataset(split)[0]["target"].tolist()
    assert found["train", 1] == found["train", 3] != found["train", 2]
    assert task.has_sharded_data("train") and found["valid", 1]


def test_more_shards_than_lines(tmp_path):
    for split in SPLITS:
        (tmp_path / split).write_text("a b\n\nc\n")
    files = {split: tmp_path / split for split in SPLITS}
    with pytest.raises(InputError, match="--shards 3: only 2 training sentences"):
        write_language_folder(files, tmp_path / "out", shards=3)
    assert not (tmp_path / "out").exists()
