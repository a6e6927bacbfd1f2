"""``fairseq-struct prepare listops``: splits, further test sets, and what is refused."""

import json

import pytest
from fairseq.data import indexed_dataset
from preparers import check_fails, contents

from fairseq_struct.data.prepared.formulas.listops import (
    ListOpsOptions,
    draw_listops_corpus,
    read_listops_corpus,
)
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.formulas.listops import value_of
from fairseq_struct.errors import InputError

RELEASED = "".join(
    f"{(a + b) % 10}\t( ( ( [SM {a} ) {b} ) ] )\n" for a in range(10) for b in range(4)
)


def split(folder, name):
    sentences = (folder / "text" / f"{name}.sentence1").read_text().splitlines()
    labels = (folder / "text" / f"{name}.label").read_text().splitlines()
    assert [str(value_of(sentence.split())) for sentence in sentences] == labels
    return sentences


def test_generated_folders_have_test_sets_of_one_dictionary(tmp_path, run):
    (tmp_path / "test.tsv").write_text(RELEASED)
    (tmp_path / "other.tsv").write_text("3\t[SM 1 2 ]\n0\t[MIN 0 1 2 ]\n")
    options = ["--instances=300", "--most-tokens=9", f"--test={tmp_path / 'test.tsv'}", "--seed=5",
               f"--exclude={tmp_path / 'other.tsv'}"]  # fmt: skip
    further = ["--tokens", 30, 40, "--tokens", 60, 70, "--arguments", 10, "--test-instances=7"]
    status, printed, _ = run("listops", ["generate", tmp_path / "out", *options, *further])
    assert status == 0
    assert "train: 270 expressions of up to 9 tokens\nvalid: 30 exp" in printed
    assert "test: 40 expressions of up to 4 tokens\ntest_30_40: 7 exp" in printed
    out, names = tmp_path / "out", ["train", "valid", "test", "test_30_40", "test_60_70"]
    splits = {name: split(out, name) for name in [*names, "test_10_arguments"]}
    every = [sentence for sentences in splits.values() for sentence in sentences]
    assert len(every) == len(set(every)) == 300 + 40 + 3 * 7
    assert not {"[SM 1 2 ]", "[MIN 0 1 2 ]"} & {*splits["train"], *splits["valid"]}
    assert all(30 <= len(sentence.split()) <= 40 for sentence in splits["test_30_40"])
    assert all(100 <= len(sentence.split()) <= 1000 for sentence in splits["test_10_arguments"])
    words = load_dictionary(out / "data-bin" / "dict.txt")
    labels = load_dictionary(out / "data-bin" / "dict.label.txt")
    assert labels.symbols[labels.nspecial :] == list("0123456789")
    for name, sentences in splits.items():
        binary = indexed_dataset.make_dataset(
            str(out / "data-bin" / f"{name}.sentence1"), impl="mmap"
        )
        assert [words.string(line) for line in binary] == sentences
    status, _, _ = run("listops", ["generate", tmp_path / "plain", *options])
    assert status == 0 and split(tmp_path / "plain", "train") == splits["train"]
    before = contents(out)
    assert "nothing to do" in run("listops", ["generate", out, *options, *further])[1]
    check_fails(run("listops", ["generate", out, *options]), "out: was prepared with other ")
    assert contents(out) == before
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["options"]["tokens"] == [[30, 40], [60, 70]]


def test_without_a_test_file_the_test_split_is_drawn_alike(tmp_path, run):
    options = ["--instances=90", "--most-tokens=20"]
    assert run("listops", ["generate", tmp_path / "out", *options])[0] == 0
    sizes = [len(split(tmp_path / "out", name)) for name in ("train", "valid", "test")]
    assert sizes == [81, 9, 10]


def test_released_files_are_read_without_what_is_tested(tmp_path, run):
    (tmp_path / "train.tsv").write_text(RELEASED + "1\t( ( ( [SM 0 ) 1 ) ] )\n2\t[MIN 2 3 4 ]\n")
    (tmp_path / "test.tsv").write_text("".join(RELEASED.splitlines(keepends=True)[:3]))
    options = [f"--test={tmp_path / 'test.tsv'}", "--most-tokens=4"]
    given = ["read", tmp_path / "train.tsv", tmp_path / "out", *options]
    status, printed, _ = run("listops", given)
    assert status == 0 and "left out: 4 excluded, 1 too long" in printed
    splits = [split(tmp_path / "out", name) for name in ("train", "valid", "test")]
    assert [len(one) for one in splits] == [34, 3, 3]
    assert len({*splits[0], *splits[1], *splits[2]}) == 40
    status, printed, _ = run("listops", ["read", tmp_path / "train.tsv", tmp_path / "whole",
                                         "--instances=20"])  # fmt: skip
    assert status == 0 and "train: 17 exp" in printed and "valid: 1 exp" in printed


def test_python_gives_the_corpora_of_the_command(tmp_path, run):
    (tmp_path / "train.tsv").write_text(RELEASED)
    options = ["--tokens", 9, 12, "--arguments", 3, "--test-instances=5", "--depth=9", "--seed=2"]
    given = ["read", tmp_path / "train.tsv", tmp_path / "read", "--instances=30", *options]
    assert run("listops", given)[0] == 0
    assert run("listops", ["generate", tmp_path / "drawn", "--instances=20", *options])[0] == 0
    asked = ListOpsOptions(tokens=[(9, 12)], arguments=[3], test_instances=5, depth=9, seed=2)
    for folder, corpus in (
        ("read", read_listops_corpus(tmp_path / "train.tsv", asked, 30)),
        ("drawn", draw_listops_corpus(asked, 20)),
    ):
        names = ["train", "valid", "test", "test_9_12", "test_3_arguments"]
        assert list(corpus.splits) == names
        for name in names:
            found = [instance.sentences[0] for instance in corpus.splits[name]]
            assert found == split(tmp_path / folder, name)


def test_python_refuses_what_the_command_line_does():
    with pytest.raises(InputError, match="--test-instances must be 1 or more, not 0"):
        ListOpsOptions(test_instances=0)
    with pytest.raises(InputError, match="--tokens 9 5: name the least number first"):
        ListOpsOptions(tokens=[(9, 5)])
    with pytest.raises(InputError, match="--instances must be 10 or more, not 9"):
        draw_listops_corpus(ListOpsOptions(), 9)
    with pytest.raises(InputError, match="--instances must be 10 or more, not -1"):
        read_listops_corpus("absent", ListOpsOptions(), -1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "OUT", "--tokens", 9, 5], "--tokens 9 5: name the least number first"),
        (["generate", "OUT", "--instances=10", "--tokens", 1, 3], "has 1 to 3 tokens"),
        (["generate", "OUT", "--instances=999", "--depth=2", "--most-tokens=4"],
         "there are no 1110 distinct expressions with these options: after 400"),
        (["generate", "OUT", "--test", "FILE"], "file:2: the label is 4, but"),
        (["generate", "OUT", "--exclude", "absent"], "absent: no such file"),
        (["read", "FILE", "OUT"], "file:2: the label is 4, but"),
        (["read", "SHORT", "OUT"], "short: 1 expressions stay, which are too few"),
    ],
)  # fmt: skip
def test_bad_input_leaves_no_folder(tmp_path, run, arguments, message):
    (tmp_path / "file").write_text("3\t[SM 1 2 ]\n4\t[SM 1 2 ]\n")
    (tmp_path / "short").write_text("3\t[SM 1 2 ]\n")
    places = {"OUT": tmp_path / "out", "FILE": tmp_path / "file", "SHORT": tmp_path / "short"}
    check_fails(run("listops", [places.get(one, one) for one in arguments]), message)
    assert not (tmp_path / "out").exists()
