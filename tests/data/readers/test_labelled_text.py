"""Readers of labelled sentences and of CoNLL-U, with good and bad files."""

import json
import os
from pathlib import Path

import pytest
import torch

from fairseq_struct.data.datasets.gold_trees import constituents_of
from fairseq_struct.data.datasets.labelled_sentences import LabelledSentences
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers import labelled_text
from fairseq_struct.data.readers.conllu import read_conllu, to_conllu
from fairseq_struct.data.readers.labelled_brackets import line_of, read_line
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus, read_corpus
from fairseq_struct.errors import InputError
from fairseq_struct.modules.word_vectors import read_word_vectors


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_sentences_and_pairs(tmp_path):
    path = write(tmp_path / "a.tsv", "a  good film\t1\r\n\nbad\t0\n")
    assert list(labelled_text.read_tsv(path)) == [
        Instance(("a good film",), "1"), Instance(("bad",), "0")
    ]  # fmt: skip
    path = write(tmp_path / "b.tsv", "a b\tc\tyes\n")
    assert list(labelled_text.read_tsv(path)) == [Instance(("a b", "c"), "yes")]


def test_sentiment_trees(tmp_path):
    path = write(tmp_path / "t.txt", "(3 (2 The) (4 (3 8 1\\/2) (2 films)))\n(2 (1 so) (2 so))\n")
    assert list(labelled_text.read_sentiment_trees(path)) == [
        Instance(("The 8 1/2 films",), "positive"), "neutral"
    ]  # fmt: skip
    assert [i.label for i in labelled_text.read_fine_sentiment_trees(path)] == ["3", "2"]


def test_the_brackets_of_sentiment_trees_are_kept(tmp_path):
    path = write(tmp_path / "t.txt", "(3 (2 The) (4 (3 8 1\\/2) (2 films)))\n")
    (fine,) = labelled_text.read_fine_sentiment_trees(path)
    (tree,) = fine.trees
    assert tree == ((0, 4, "3"), (0, 1, "2"), (1, 4, "4"), (1, 3, "3"), (3, 4, "2"))
    (two,) = labelled_text.read_sentiment_trees(path)
    assert line_of(two.sentences[0].split(), two.trees[0]) == (
        "(positive (neutral The) (positive (positive 8 1/2) (neutral films)))"
    )


def test_words_with_a_no_break_space_are_words_of_one_label():
    words, tree = read_line("(3 (1 8\xa01\\/2\xa0x) (2 films))")
    assert words == ["8", "1\\/2", "x", "films"]
    assert line_of(words, tree) == "(3 (1 (1 8) (1 (1 1\\/2) (1 x))) (2 films))"
    assert read_line(line_of(words, tree)) == (words, tree)


@pytest.mark.parametrize("line", ["(3 (2 The) (4 (3 8 1/2) (2 films)))", "(X a)", "(b (b (b a)))"])
def test_labelled_brackets_there_and_back(line):
    assert line_of(*read_line(line)) == line


@pytest.mark.parametrize(
    "line", ["", "a", "(3 a", "(3 a) b", "(3 a))", "(3 )", "(3 a (2 b))", "(3 \xa0)"]
)
def test_labelled_brackets_that_are_no_tree(line):
    with pytest.raises(ValueError, match="in a labelled tree|is not closed|there is no tree"):
        read_line(line)


def test_trees_are_kept_on_request_and_folders_without_them_stay_as_they_were(tmp_path):
    files = {split: write(tmp_path / split, "(3 (2 A) (4 b))\n(1 (1 C) (2 d))\n")
             for split in labelled_text.SPLITS}  # fmt: skip
    corpus = read_corpus("sst_fine", labelled_text.read_fine_sentiment_trees, files)
    plain = write_labelled_folder(corpus, tmp_path / "plain", lower=True)
    assert set(plain["options"]) == {"lower", "least_count", "words_of_all_splits"}
    assert not [name for name in plain["files"] if "trees" in name]
    with pytest.raises(InputError, match=r"options: trees \(None, now True\)"):
        write_labelled_folder(corpus, tmp_path / "plain", lower=True, trees=True)
    kept = write_labelled_folder(corpus, tmp_path / "kept", lower=True, trees=True)
    added = {f"data-bin/{split}.trees1" for split in labelled_text.SPLITS}
    assert set(kept["files"]) - set(plain["files"]) == added
    text = (tmp_path / "kept" / "data-bin" / "valid.trees1").read_text()
    assert text == "(3 (2 a) (4 b))\n(1 (1 c) (2 d))\n"
    without = {split: write(tmp_path / split, "a\t1\nb\t0\n") for split in labelled_text.SPLITS}
    corpus = read_corpus("plain", labelled_text.read_tsv, without)
    with pytest.raises(InputError, match="--trees: plain has no trees"):
        write_labelled_folder(corpus, tmp_path / "none", trees=True)


def test_constituents_are_those_of_the_sentences(tmp_path):
    path, sentences = tmp_path / "x.trees1", [torch.arange(3), torch.arange(1)]
    write(path, "(1 (0 a) (7 (1 b) (0 c)))\n(0 d)\n")
    first, second = constituents_of(path, sentences, ["0", "1"])
    assert first.tolist() == [[0, 3, 1], [0, 1, 0], [1, 3, -1], [1, 2, 1], [2, 3, 0]]
    data = LabelledSentences([sentences], None, 1, [[first, second]])
    batch = data.collater([data[1], data[0]])["net_input"]["gold_trees"]
    assert batch.shape == (2, 1, 5, 3) and torch.equal(batch[1, 0], first)
    assert torch.equal(batch[0, 0, :1], second) and (batch[0, 0, 1:] == -1).all()
    for text, message in (("(0 a)\n", "1 trees, but there are 2 sentences"),
                          ("(0 a)\n(0 a)\n", "x.trees1:1: a tree of 1 words"),
                          ("(0 a b c)\n(0 a\n", "x.trees1:2: the tree is not closed")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            constituents_of(write(path, text), sentences, ["0", "1"])


@pytest.mark.parametrize(
    "line",
    ["(3 (2 good)) (1 (2 bad))", "(3 ) (2 good)", "(3 (2 ) (2 a))", "(3 (7 a) (9 b))", "good",
     "(3 (2 a) (2 b) ) )(3 (2 c) (2 d)", "(3 a (2 b))", "(3 (2 a) b)", "(3good)", "(3 (2 a)"],
)  # fmt: skip
def test_sentiment_trees_that_are_none(tmp_path, line):
    path = write(tmp_path / "t.txt", f"(2 x)\n{line}\n")
    with pytest.raises(InputError, match="t.txt:2: malformed sentiment tree"):
        list(labelled_text.read_fine_sentiment_trees(path))


def test_snli_and_sick(tmp_path):
    entry = {"gold_label": "neutral", "sentence1_binary_parse": "( ( A b ) . )",
             "sentence2_binary_parse": "c"}  # fmt: skip
    lines = [json.dumps(entry), json.dumps(entry | {"gold_label": "-"})]
    path = write(tmp_path / "s.jsonl", "\n".join(lines) + "\n")
    expected = [Instance(("A b .", "c"), "neutral"), "without label"]
    assert list(labelled_text.read_snli_jsonl(path)) == expected
    rows = ["\t".join(entry), "\t".join(entry.values()), "\t".join(["-", "( a b )", "c"])]
    path = write(tmp_path / "s.txt", "\n".join(rows))
    assert list(labelled_text.read_snli_tsv(path)) == expected
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    path = write(tmp_path / "k.txt", f"{header}\n1\tA man\tNo man\t3.3\tNEUTRAL\n")
    assert list(labelled_text.read_sick(path)) == [Instance(("A man", "No man"), "neutral")]


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        ("read_tsv", "a\t1\nb\n", r"x:2: 1 columns; expected 1 or 2 sentences"),
        ("read_tsv", "a\t1\n \t0\n", r"x:2: empty sentence"),
        ("read_tsv", "a\ttwo words\n", r"x:1: 'two words' is not a label, which is one word"),
        ("read_sentiment_trees", "(3 (2 a) (2 b)\n", r"x:1: malformed sentiment tree"),
        ("read_sentiment_trees", "(7 (2 a) (2 b))\n", r"x:1: malformed sentiment tree"),
        ("read_snli_jsonl", "{}\n", r"x:1: not an SNLI record"),
        ("read_snli_jsonl", "nonsense\n", r"x:1: not an SNLI record"),
        (
            "read_snli_jsonl",
            '{"gold_label": "a", "sentence1_binary_parse": 1, "sentence2_binary_parse": "b"}\n',
            r"x:1: label and parses must be text",
        ),
        ("read_sick", "a\tb\n", r"x:1: no column 'entailment_judgment'"),
        ("read_sick", "entailment_judgment\tsentence_A\tsentence_B\nn\ta\n", r"x:2: 2 columns"),
    ],
)
def test_malformed_lines_are_named(tmp_path, reader, text, message):
    path = write(tmp_path / "x", text)
    with pytest.raises(InputError, match=message):
        list(getattr(labelled_text, reader)(path))


def test_splits_have_to_fit_together(tmp_path):
    files = {split: tmp_path / split for split in labelled_text.SPLITS}
    for name in ("train", "valid", "test"):
        write(files[name], "a\t1\nb\t0\n")
    assert len(read_corpus("x", labelled_text.read_tsv, files).splits["test"]) == 2
    write(files["test"], "a\t7\n")
    with pytest.raises(InputError, match="test:1: label '7' is not in the train"):
        read_corpus("x", labelled_text.read_tsv, files)
    write(files["test"], "a\tb\t1\n")
    with pytest.raises(InputError, match="test:1: two sentences and a label; expected one sent"):
        read_corpus("x", labelled_text.read_tsv, files)
    write(files["train"], "a\tb\t1\na\tb\t0\na\t1\n")
    with pytest.raises(InputError, match="train:3: one sentence and a label; expected two sente"):
        read_corpus("x", labelled_text.read_tsv, files)
    write(files["test"], "\n")
    with pytest.raises(InputError, match="contains no instance"):
        read_corpus("x", labelled_text.read_tsv, files)
    files["test"].unlink()
    with pytest.raises(InputError, match=r"no such file \(the test split of x\)"):
        read_corpus("x", labelled_text.read_tsv, files)


@pytest.mark.parametrize(("split", "name"), [("train", "label"), ("test", "Gold_Label")])
def test_a_header_is_no_class(tmp_path, split, name):
    files = {one: write(tmp_path / one, "a\t1\nb\t0\n") for one in labelled_text.SPLITS}
    write(files[split], f"sentence\t{name}\na\t1\nb\t0\n")
    with pytest.raises(InputError, match=f"{split}:1: a header, as it seems, .* label '{name}'"):
        read_corpus("x", labelled_text.read_tsv, files)
    write(files["train"], f"a\t{name}\na\t1\nb\t0\nc\t{name}\n")  # now it is a class
    assert len(read_corpus("x", labelled_text.read_tsv, files).splits["train"]) == 4


def test_the_number_of_columns_comes_before_their_labels(tmp_path):
    files = {one: write(tmp_path / one, "a\tpos\n") for one in labelled_text.SPLITS}
    write(files["train"], "a\tpos\t12\nb\tneg\t13\n")
    with pytest.raises(InputError, match="valid:1: one sentence and a label; expected two sente"):
        read_corpus("x", labelled_text.read_tsv, files)


def test_a_dictionary_is_not_cut_to_nothing(tmp_path):
    instances = [Instance(("a b a",), "x"), Instance(("a c",), "y")]
    corpus = LabelledCorpus("x", dict.fromkeys(labelled_text.SPLITS, instances))
    with pytest.raises(InputError, match="--least-count 4 leaves no word: .* 'a', occurs 3 times"):
        write_labelled_folder(corpus, tmp_path / "out", least_count=4)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not os.environ.get("DATA"), reason="DATA names no folder of corpora")
def test_the_real_corpora_have_their_sizes():
    data = Path(os.environ["DATA"])
    for name in ("sst", "sts/SICK"):
        if not (data / name).is_dir():
            pytest.skip(f"{data / name} is not there")
    for reader, folder, names, sizes in (
        ("read_tsv", "sst/sst2_tsv", ("train.tsv", "dev.tsv", "test.tsv"), (6920, 872, 1821)),
        ("read_sentiment_trees", "sst/ptb_trees", ("train.txt", "dev.txt", "test.txt"),
         (6920, 872, 1821)),
        ("read_sick", "sts/SICK",
         ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"), (4500, 500, 4927)),
    ):  # fmt: skip
        files = {s: data / folder / n for s, n in zip(labelled_text.SPLITS, names, strict=True)}
        corpus = read_corpus("x", getattr(labelled_text, reader), files)
        assert tuple(len(corpus.splits[split]) for split in labelled_text.SPLITS) == sizes


def test_conllu_there_and_back(tmp_path):
    text = to_conllu(("a", "b", "c"), (2, 0, 2), ("sent_id = 1",)) + "\n"
    empty = "1.1\tc\t_\t_\t_\t_\t_\t_\t0:root\t_\n"
    first, second = to_conllu(("a", "b"), (0, 1)).splitlines(keepends=True)[:2]
    text += "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + first + empty + second + "\n"
    found = list(read_conllu(write(tmp_path / "x.conllu", text)))
    assert [s.words for s in found] == [("a", "b", "c"), ("a", "b")]
    assert [s.heads for s in found] == [(2, 0, 2), (0, 1)] and found[0].line == 2


@pytest.mark.parametrize("comment", ["sent_id = 1\ntext = a", "text = a\n", "text = a\rb"])
def test_comments_of_several_lines_are_refused(comment):
    with pytest.raises(InputError, match=r"comment '.*' has a line break; give each line by itse"):
        to_conllu(("a",), (0,), ("label = x", comment))


@pytest.mark.parametrize(
    ("heads", "message"),
    [((2, 1), r"x:1: the heads of this sentence form a cycle"),
     ((0, 5), r"x:2: '5' is not a valid head"), ((0, 2), r"x:2: '2' is not a valid head of word")],
)  # fmt: skip
def test_heads_that_are_no_tree_are_refused(tmp_path, heads, message):
    path = write(tmp_path / "x", to_conllu(("a", "b"), heads))
    with pytest.raises(InputError, match=message):
        list(read_conllu(path))


@pytest.mark.parametrize("place", [0, 6])
def test_numbers_of_thousands_of_digits_are_none(tmp_path, place):
    columns = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_".split("\t")
    columns[place] = "9" * 5000
    with pytest.raises(InputError, match="x:1: ") as refusal:
        list(read_conllu(write(tmp_path / "x", "\t".join(columns) + "\n")))
    assert len(str(refusal.value)) < 300


def test_records_that_are_nested_too_deeply_are_none(tmp_path):
    with pytest.raises(InputError, match="x:1: not an SNLI record"):
        list(labelled_text.read_snli_jsonl(write(tmp_path / "x", "[" * 100_000 + "\n")))


def test_conllu_has_ten_columns(tmp_path):
    with pytest.raises(InputError, match="x:1: 2 columns; CoNLL-U has 10"):
        list(read_conllu(write(tmp_path / "x", "1\ta\n")))


def test_word_vectors(tmp_path):
    path = write(tmp_path / "v", "3 2\nthe 1 2\nof 0.5 -1\nxyz 0 0\n")
    found = read_word_vectors(path, ["the", "of", "and"], 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "the": [1.0, 2.0], "of": [0.5, -1.0]
    }  # fmt: skip
    with pytest.raises(InputError, match=r"v:2: 2 numbers, but embeddings have 3"):
        read_word_vectors(path, ["the"], 3)
    with pytest.raises(InputError, match="v:1: not all values are numbers"):
        read_word_vectors(write(path, "the 1 x\n"), ["the"], 2)
    with pytest.raises(InputError, match="v:1: not all values are finite"):
        read_word_vectors(write(path, "the 1 nan\n"), ["the"], 2)
    with pytest.raises(InputError, match="no such file"):
        read_word_vectors(tmp_path / "none", [], 2)
