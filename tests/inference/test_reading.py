"""Raw text: lines as they arrive, batches of similar lengths, and sentences that are too long."""

import io
import os
import re

import pytest
import torch
from fairseq.data import Dictionary
from small_masked_models import train
from stored_models import STORED

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.files import text_files
from fairseq_struct.inference import read_lines, text_lines
from fairseq_struct.inference.classifiers.classifier import Classifier
from fairseq_struct.inference.reading import LONGEST, by_length, windows, words_of


class Pipe:
    """A pipe with a reading end that never waits: without input a read returns nothing or fails."""

    def __init__(self):
        ends = os.pipe()
        os.set_blocking(ends[0], False)
        self.reader = os.fdopen(ends[0], encoding="utf-8")
        self.writer = os.fdopen(ends[1], "wb", buffering=0)


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.writer.close()
    made.reader.close()


def test_windows_hold_what_is_there(pipe):
    pipe.writer.write("one\ntwö\nthr".encode())
    found = windows(read_lines(pipe.reader), 3)
    assert next(found) == [(1, "one"), (2, "twö")]
    pipe.writer.write(b"ee\r\n\n5\n6\n7\n")
    assert next(found) == [(3, "three"), (4, ""), (5, "5")]
    assert next(found) == [(6, "6"), (7, "7")]
    pipe.writer.write("8\nö".encode()[:-1])
    assert next(found) == [(8, "8")]
    pipe.writer.write("ö".encode()[-1:])
    pipe.writer.close()
    assert list(found) == [[(9, "ö")]]


def test_lines_of_a_file_are_all_there(tmp_path):
    lines = [f"line {number} " + "x" * (number % 97) for number in range(3000)]
    (tmp_path / "text").write_text("\n".join(lines))
    with (tmp_path / "text").open() as file:
        found = list(windows(read_lines(file), 2000))
    assert [len(window) for window in found] == [2000, 1000]
    assert [line for window in found for _, line in window] == lines
    assert list(read_lines(io.StringIO("a\r\nb"))) == list(read_lines(["a\n", "b\n"])) == ["a", "b"]


def test_lines_are_those_of_training_data(tmp_path):
    content = "\ufeffa\rb\u2028c\r\n\ufeffd\x0b\x85e\n\r\nf\r"
    (tmp_path / "text").write_bytes(content.encode())
    with (tmp_path / "text").open(encoding="utf-8") as file:
        found = list(read_lines(file))
    assert found == ["a\rb\u2028c", "\ufeffd\x0b\x85e", "", "f"]
    assert found == text_files.read_lines(tmp_path / "text")
    assert found == list(read_lines(io.StringIO(content, newline="\n")))


def test_bytes_that_are_no_text(pipe, tmp_path):
    pipe.writer.write(b"good\nbad \xff\n")
    pipe.writer.close()
    with pytest.raises(InputError, match=r"line 2 of the input is not utf-8 \(byte 0xff\)"):
        list(read_lines(pipe.reader))
    with pytest.raises(InputError, match=r"line 1 of the input is not utf-8 \(byte 0xff\)"):
        list(read_lines(["\udcff"]))
    with pytest.raises(InputError, match="looks like UTF-16, which `iconv"):
        list(read_lines(["\udcff\udcfea\0"]))
    packed = io.TextIOWrapper(io.BytesIO(b"good\n" * 5000 + b"\xff\n"), "utf-8")  # has no number
    with pytest.raises(InputError, match=r"line 5001 of the input is not utf-8 \(byte 0xff\)"):
        list(read_lines(packed))
    with pytest.raises(InputError, match="standard input is closed"):
        read_lines(None)


def test_input_that_cannot_be_read(tmp_path):
    with os.fdopen(os.open(tmp_path / "x", os.O_CREAT | os.O_WRONLY)) as stream:
        with pytest.raises(InputError, match=r"the input cannot be read \(Bad file descriptor\)"):
            list(read_lines(stream))


def test_lines_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "_CHUNK", 1)
    for text in ("", "\n", "a", "ö ü\r\n\r\nthe end", "x\n\n"):
        (tmp_path / "x").write_bytes(text.encode())
        with (tmp_path / "x").open() as file:
            assert list(read_lines(file)) == text.splitlines()


def test_batches_are_of_similar_lengths_and_results_in_order():
    sentences = ["w " * (1 + number * 7 % 100) for number in range(300)]
    sizes = []

    def analyse(batch):
        sizes.append((len(batch), max(map(len, batch))))
        return map(len, batch)

    assert list(by_length(sentences, analyse)) == [len(one.split()) for one in sentences]
    assert all(count * longest <= 4000 for count, longest in sizes) and len(sizes) < 10
    with pytest.raises(InputError, match="line 3: empty sentence"):
        list(by_length(["a", "b", " "], analyse))


def test_the_longest_sentence():
    assert len(words_of(1, "w " * LONGEST)) == LONGEST
    with pytest.raises(InputError, match=r"line 7: 2001 words, more than the 2000 allowed; "
                                         "--longest-sentence raises"):  # fmt: skip
        words_of(7, "w " * (LONGEST + 1))


class Network(torch.nn.Linear):
    """A classifier that accepts any sentence."""

    sides, tree_kind = 1, None

    def forward(self, tokens, lengths):
        logits = tokens.sum((1, 2))[:, None] * torch.tensor([0.1, -0.1])
        return type("Output", (), {"logits": logits, "trees": None})


def test_classifiers_have_limits_of_their_own_or_this_one():
    labels = Dictionary()
    for name in ("x", "y"):
        labels.add_symbol(name)
    instances = [["a b c"], ["a"], ["a b"]]
    free = Classifier(Network(1, 1), Dictionary(), labels, longest=2)
    with pytest.raises(InputError, match="line 1: 3 words, more than the 2 allowed"):
        free.classify(instances)
    assert free.classify(instances[1:]) == ["x", "x"]
    own = Classifier(Network(1, 1), Dictionary(), labels, longest_sentence=3, longest=2)
    assert [one.sentences for one in own.analyse(instances)] == [
        (("a", "b", "c"),), (("a",),), (("a", "b"),)
    ]  # fmt: skip


def test_labels_appear_before_the_next_sentence_is_there(pipe):
    labels = Dictionary()
    for name in ("x", "y"):
        labels.add_symbol(name)
    found = Classifier(Network(1, 1), Dictionary(), labels).analyse(read_lines(pipe.reader))
    for sentence in ("a b", "c"):
        pipe.writer.write(f"{sentence}\n".encode())
        assert next(found).sentences == (tuple(sentence.split()),)
    pipe.writer.write(b"two\tsentences\n")
    with pytest.raises(InputError, match=r"line 3: 2 sentence\(s\)"):
        next(found)


@pytest.mark.parametrize(("arch", "data"), [("latent_tree_classifier", "single"),
                                            ("latent_tree_entailment", "pairs")])  # fmt: skip
def test_a_pair_has_no_tree_of_a_sentence(arch, data, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("a b\nb\ta\n"))
    status = main(["parse", str(STORED / f"{arch}.pt"), f"--data={STORED / data / 'data-bin'}"])
    told = "error: line 2: a sentence pair; trees are for single sentences\n"
    assert (status, *capsys.readouterr()) == (2, "", told)


@pytest.fixture(scope="module")
def checkpoint(language_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("udgn")
    train(language_folder, path, "--max-update=1", "--disable-validation")
    return path / "checkpoint_last.pt"


class Person(io.StringIO):
    """A person who types the next sentence when the tree of the last one has appeared."""

    def __init__(self, pipe, sentences):
        super().__init__()
        self.pipe, self.sentences = pipe, list(sentences)
        self.go_on()

    def go_on(self):
        if self.sentences:
            self.pipe.writer.write(f"{self.sentences.pop(0)}\n".encode())
        else:
            self.pipe.writer.close()

    def flush(self):
        if self.getvalue().endswith("\n\n") and not self.pipe.writer.closed:
            self.go_on()


def test_a_tree_appears_before_the_next_sentence_is_there(checkpoint, pipe, monkeypatch):
    sentences = ["the cats sing", "the dog", "the bird in the tree sings"]
    person = Person(pipe, sentences)
    monkeypatch.setattr("sys.stdin", pipe.reader)
    monkeypatch.setattr("sys.stdout", person)
    assert main(["parse", str(checkpoint)]) == 0
    assert re.findall("# text = (.*)", person.getvalue()) == sentences
    assert re.findall("# sent_id = (.*)", person.getvalue()) == ["1", "2", "3"]


def test_sentences_that_are_too_long_are_refused(checkpoint, monkeypatch, capsys):
    def parse(*options):
        monkeypatch.setattr("sys.stdin", io.StringIO("the cat\nthe cats in the tree\n"))
        return main(["parse", str(checkpoint), *options]), capsys.readouterr().err

    assert parse()[0] == 0 and parse("--longest-sentence=5")[0] == 0
    status, message = parse("--longest-sentence=4")
    assert status == 2 and "line 2: 5 words, more than the 4 allowed" in message
    status, message = parse("--longest-sentence=0")
    assert status == 2 and "--longest-sentence must be 1 or more, not 0" in message
    for name in ("longest", "longest_sentence"):  # the latter as on the command line
        model = fairseq_struct.load(checkpoint, **{name: 1})
        for trees in (model.trees, model.readings):
            with pytest.raises(InputError, match="2 words, more than the 1 allowed"):
                list(trees(["the cat"]))
    with pytest.raises(InputError, match="longest_sentence and longest are one option"):
        fairseq_struct.load(checkpoint, longest=1, longest_sentence=2)
