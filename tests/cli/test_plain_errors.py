"""Errors that a user can fix are reported in one line, by every command and for every file."""

import errno
import os
import resource
import sys
from contextlib import contextmanager

import pytest
import torch

from fairseq_struct import errors
from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared.streams.plain_text import CheckedText
from fairseq_struct.data.prepared.vocabulary import dictionary_file
from fairseq_struct.data.prepared.vocabulary.subwords import BytePairEncoding
from fairseq_struct.data.readers import (
    aligned_files,
    bracket_trees,
    conllu,
    dependency_treebank,
    labelled_text,
    penn_treebank,
    scored_pairs,
    syntactic_evaluation,
)
from fairseq_struct.errors import DependencyError, InputError, as_input, run_plainly
from fairseq_struct.evaluation import predictions
from fairseq_struct.files import text_files
from fairseq_struct.files.text_lines import TextLines
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.inference.text_lines import read_lines
from fairseq_struct.modules.word_vectors import read_word_vectors
from fairseq_struct.records.results import read_results
from fairseq_struct.records.training_log import read_log

# The system refuses to read this file, even for root, and reports it as a regular file.
UNREADABLE = "/proc/self/mem"
READERS = {
    "bracket_trees": ("trees.txt", bracket_trees.read_trees),
    "conllu": ("trees.conllu", lambda path: list(conllu.read_conllu(path))),
    "dp": ("trees.dp", dependency_treebank.read_treebank),
    "is_treebank": ("trees", predictions.is_treebank),
    "dictionary": ("dict.txt", dictionary_file.check_dictionary),
    "labelled_tsv": ("train.tsv", lambda path: list(labelled_text.read_tsv(path))),
    "sst_trees": ("train.txt", lambda path: list(labelled_text.read_sentiment_trees(path))),
    "snli": ("train.jsonl", lambda path: list(labelled_text.read_snli_jsonl(path))),
    "sick": ("SICK.txt", lambda path: list(labelled_text.read_sick(path))),
    "language_corpus": ("train.txt", lambda path: CheckedText(TextLines(path), "train")),
    "parallel": ("train.en", lambda path: aligned_files.AlignedFiles(path, path)),
    "penn_treebank": ("wsj_0001.mrg", penn_treebank.read_evaluation_trees),
    "benchmark": ("sts-train.csv", scored_pairs.read_benchmark),
    "pairs": ("train.tsv", scored_pairs.read_pairs),
    "syneval_text": ("sets.tsv", syntactic_evaluation.read_test_sets),
    "syneval_pickle": ("x.pickle", lambda path: list(syntactic_evaluation._read_pickle(path))),
    "merges": ("codes.bpe", lambda path: BytePairEncoding.load(path.parent)),
    "word_vectors": ("vectors", lambda path: read_word_vectors(path, ["a"], 3)),
    "records": ("results.jsonl", read_results),
    "training_log": ("log", read_log),
}
# These read bytes that are not UTF-8 as letters, or reject them as no pickle.
NO_TEXT = ("is_treebank", "syneval_pickle", "word_vectors", "training_log")


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    file, read = READERS[name]
    (tmp_path / file).symlink_to(UNREADABLE)
    with pytest.raises(InputError, match=rf"{file}: cannot be read \(Input/output error\)"):
        read(tmp_path / file)


@pytest.mark.parametrize("name", READERS)
def test_a_file_without_permission_is_named(tmp_path, name, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    file, read = READERS[name]
    (tmp_path / file).write_text("")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(InputError, match=rf"{file}: cannot be read \(Permission denied\)"):
        read(tmp_path / file)


@pytest.mark.parametrize("name", sorted(set(READERS) - set(NO_TEXT)))
def test_a_line_that_is_no_text_is_named(tmp_path, name):
    file, read = READERS[name]
    (tmp_path / file).write_bytes(b"# (a b)\n\xff\xfe\x00\n")
    with pytest.raises(InputError, match=rf"{file}:2: not UTF-8 text \(byte 0xff\)"):
        read(tmp_path / file)


def test_records_are_lines_whatever_letters_they_have(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"experiment": "a\u2028b", "variant": "c", "metrics": {}}\n', encoding="utf-8")
    assert read_results(path)[0].experiment == "a\u2028b"


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (InputError("no such thing"), "no such thing"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), "/x/y: Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such file", b"/x/y"), "/x/y: No such file"),
        (OSError(errno.ENOSPC, "No space left"), "cannot read or write: No space left"),
        (OSError(errno.EFBIG, "File too large"), "cannot read or write: File too large"),
        (MemoryError(), "not enough memory"),
        (MemoryError("Unable to allocate 4 GiB"), "not enough memory (Unable to allocate 4 GiB)"),
    ],
)
def test_what_the_user_can_put_right_is_one_line(capsys, error, told):
    assert run_plainly(raising(error)) == 2
    assert capsys.readouterr().err == f"error: {told}\n"


def test_a_current_folder_that_was_removed_is_one_line(tmp_path, monkeypatch, capsys):
    error = FileNotFoundError(errno.ENOENT, "No such file")  # os.getcwd's, but others' as well
    with pytest.raises(FileNotFoundError):
        run_plainly(raising(error))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run_plainly(raising(error)) == 2
    assert capsys.readouterr().err == "error: the current folder no longer exists\n"


def test_too_large_a_tensor_is_one_line(capsys):
    assert run_plainly(lambda: torch.empty(2**60, dtype=torch.uint8).shape) == 2
    assert capsys.readouterr().err.startswith("error: not enough memory")


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), KeyError("x"), RuntimeError("x"), RecursionError("x"), OSError("x"),
     AssertionError("x"), OSError(errno.EBADF, "Bad file descriptor")],
)  # fmt: skip
def test_what_is_our_fault_keeps_its_traceback(error):
    with pytest.raises(type(error)):
        run_plainly(raising(error))


def test_what_cannot_be_built_from_options_is_one_line():
    with pytest.raises(InputError, match=r"^--mix x: no mix$"), as_input("--mix x: "):
        raise ValueError("no mix")
    for left in (DependencyError("torch is missing"), InputError("x.pt: no such file")):
        with pytest.raises(InputError) as kept, as_input("--mix x: "):
            raise left
        assert kept.value is left
    with pytest.raises(KeyError), as_input():
        raise KeyError("a bug")


def test_other_ends_of_commands():
    assert run_plainly(lambda: None) == 0
    assert run_plainly(lambda: 1) == 1
    assert run_plainly(raising(KeyboardInterrupt())) == 130


@pytest.mark.parametrize("letters", [5, 100_000], ids=["at the end", "on the way"])
def test_full_disk_below_the_output(monkeypatch, capsys, letters):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert run_plainly(lambda: print("x" * letters)) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_full_disk_below_the_help(monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["evaluate", "--help"]) == 2
    assert capsys.readouterr().err.startswith("error: standard output: cannot be written (No sp")
    with pytest.raises(SystemExit):
        main(["evaluate"])


def test_reader_that_goes_away(monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_plainly(lambda: print("x")) == 0
        assert run_plainly(raising(InputError("but bad input is told"))) == 2
    assert capsys.readouterr().err == "error: but bad input is told\n"


def test_streams_that_are_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert run_plainly(lambda: print("x")) == 0
    with pytest.raises(InputError, match="standard input is closed"):
        list(read_lines(None))


@contextmanager
def no_file_larger_than(size):
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_files_that_grow_too_large(tmp_path, capsys):
    torch.save({"model": {"w": torch.ones(1000)}}, tmp_path / "x.pt")
    (out := tmp_path / "out").mkdir()
    with no_file_larger_than(2000):
        arguments = ["--inputs", str(tmp_path / "x.pt"), "--output", str(out / "mean.pt")]
        assert main(["average-checkpoints", *arguments]) == 2
        written = capsys.readouterr().err
        assert run_plainly(lambda: write(out / "text", 3000)) == 2
    assert "mean.pt: cannot be written" in written and "File too large" in written
    assert capsys.readouterr().err == f"error: {out}/text: cannot be written (File too large)\n"
    assert not list(out.iterdir())


def write(path, letters):
    with whole_file(path) as file:
        file.write(b"x" * letters)


def test_what_is_no_file_is_written_as_it_is(tmp_path, capsys):
    write(os.devnull, 3)
    assert run_plainly(lambda: write("/dev/full", 3)) == 2
    assert "error: /dev/full: cannot be written (No space left" in capsys.readouterr().err
    reader, writer = os.pipe()
    write(f"/dev/fd/{writer}", 3)
    os.close(writer)
    with open(reader, "rb") as stream:
        assert stream.read() == b"xxx"
    assert run_plainly(lambda: write(tmp_path, 3)) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: cannot be written (Is a directory)\n"


def test_only_errors_of_its_own_writing_are_told_of_a_file(tmp_path):
    for error in (BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.EIO, "elsewhere")):
        with pytest.raises(OSError) as raised, whole_file(tmp_path / "trees"):
            raise error
        assert raised.value is error and not os.listdir(tmp_path)


def test_links_to_files_stay_links(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk/file")
    for letters in (1, 2):  # first it is missing, then it exists
        write(tmp_path / "link", letters)
        assert (tmp_path / "disk" / "file").read_bytes() == b"x" * letters
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "disk") == ["file"] and len(os.listdir(tmp_path)) == 2


def test_programs_that_are_not_ours_tell_unusable_files_too(monkeypatch, capsys):
    monkeypatch.setattr(sys, "excepthook", lambda *_: print("traceback"))
    errors.report_plainly()
    for error in (PermissionError(errno.EACCES, "Permission denied", "x"), MemoryError("bug")):
        sys.excepthook(type(error), error, None)
    output = capsys.readouterr()
    assert output.err == "error: x: Permission denied\n" and output.out == "traceback\n"


def test_a_misspelt_name_is_answered_by_the_one_that_is_like_it(tmp_path, capsys):
    (tmp_path / "gold.conllu").write_text(conllu.to_conllu(["a", "b"], [2, 0], tags=["X", "X"]))
    (tmp_path / "gold.txt").write_text("(S (A a) (B b))\n")
    for gold, wrong, right in (("gold.conllu", "right_chian", "right_chain"),
                               ("gold.txt", "right_brnching", "right_branching")):  # fmt: skip
        assert main(["evaluate", str(tmp_path / gold), wrong]) == 2
        expected = f"error: {wrong}: no such file; did you mean {right!r}?\n"
        assert capsys.readouterr().err == expected
    assert main(["evaluate", str(tmp_path / "gold.txt"), "zzz"]) == 2
    assert capsys.readouterr().err == "error: zzz: no such file\n"
    with pytest.raises(SystemExit):
        main(["prase", "x.pt"])
    assert capsys.readouterr().err.endswith("did you mean 'parse'?\n")
    with pytest.raises(SystemExit):
        main(["parse", "x.pt", "--format", "conlu"])
    assert capsys.readouterr().err.endswith("did you mean 'conllu'?\n")
    with pytest.raises(SystemExit):
        main(["prepare", "labelled_text", "snil", "x", "out"])
    assert capsys.readouterr().err.endswith("did you mean 'snli'?\n")
    assert errors.unknown_name("mix", "softmx", ("argmax", "softmax")) == (
        "unknown mix 'softmx'; choose one of argmax, softmax; did you mean 'softmax'?"
    )
    options = ("--future-target", "--eos", "--tpu", "--restore-file", "--max-epoch", "--save-dir")
    for word, told in (("--restart", ""), ("--bogus", ""), ("--gpu", ""), ("max-epoch", "max"),
                       ("--max-epochs", "max"), ("--savedir", "save"), ("-save-dir", "save")):
        meant = [f"; did you mean {one!r}?" for one in options if told and told in one]
        assert errors.suggestion(word, options) == "".join(meant)


def test_text_is_read_without_its_mark(tmp_path):
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert text_files.read_lines(tmp_path / "x") == ["a", "b\rc"]
