"""A preparation that is interrupted goes on, and ends with the same bytes."""

import gzip
import multiprocessing
import os
import shutil
import signal

import pytest
from preparers import contents

from fairseq_struct.data.prepared import binarise, prepared_folder
from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.prepared.streams import plain_text, sentence_pairs
from fairseq_struct.data.prepared.streams.journal import Journal
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")
WORDS = "the cat sings of a small house near big seas where nobody ever sleeps".split()
MOMENTS = 10


def lines(count, step):
    """Lines of different lengths, some of them empty."""
    return [" ".join(WORDS[n * step % 14 :][: n % 7]) for n in range(count)]


def translation(folder, out, **options):
    sides = [(one.title(), other) for one, other in zip(lines(40, 3), lines(40, 5), strict=True)]
    full = [(one, other) for one, other in sides if one and other]
    splits = {"train": sides, "valid": full[:5], "test": full[5:9]}
    corpus = ParallelCorpus("toy", "xx", "yy", splits, companions={"trees/a.txt": ["one", "two"]})
    text = TextOptions(tokenise="none", subwords=15, vocabulary_threshold=2)
    return write_translation_folder(corpus, text, out, **options)


def language(folder, out, **options):
    for split, count in zip(SPLITS, (60, 9, 8), strict=True):
        content = gzip.compress("".join(f"{x}\n" for x in lines(count, 3)).encode(), mtime=0)
        (folder / f"{split}.gz").write_bytes(content)
    files = {split: folder / split for split in SPLITS}
    return write_language_folder(files, out, shards=2, **options)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(sentence_pairs, "PAIRS", 7)
    monkeypatch.setattr(plain_text, "LINES", 7)
    monkeypatch.setattr(binarise, "LINES", 7)


@pytest.fixture
def moments(monkeypatch):
    """Return a function that raises an error when the journal is written for the Nth time.

    It also counts how often the journal is written, and how many lines are worked on.
    """
    save, add, told = Journal._save, Journal._add, {"saved": 0, "lines": 0, "stop": None}

    def saving(journal):
        told["saved"] += 1
        number, before = told["stop"] or (0, False)
        if told["saved"] == number and before:
            raise KeyboardInterrupt
        save(journal)
        if told["saved"] == number:
            raise KeyboardInterrupt

    def adding(journal, name, part, sizes):
        told["lines"] += part.lines
        add(journal, name, part, sizes)

    def begin(number=None, before=False):
        told.update(saved=0, lines=0, stop=number and (number, before))
        return told

    monkeypatch.setattr(Journal, "_save", saving)
    monkeypatch.setattr(Journal, "_add", adding)
    return begin


@pytest.mark.parametrize("write", [translation, language])
def test_ten_moments(write, tmp_path, moments):
    told, out = moments(), tmp_path / "out"
    manifest = write(tmp_path, tmp_path / "whole")
    whole, every, all_lines = contents(tmp_path / "whole"), told["saved"], told["lines"]
    assert every > 2 * MOMENTS
    for moment in range(MOMENTS):
        number = 1 + moment * (every - 1) // (MOMENTS - 1)
        before = bool(moment % 2)  # bytes are written of which the journal does not know
        told = moments(number, before)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, out)
        done = told["lines"]
        assert not out.exists()
        told, said = moments(), []
        assert write(tmp_path, out, say=said.append) == manifest
        assert ("going on where an interrupted run ended" in said) == (number > before)
        assert told["lines"] >= all_lines - done  # and only the chunk that was lost is done again
        assert told["lines"] <= all_lines - done + 7 * before
        assert contents(out) == whole
        assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
        shutil.rmtree(out)


def test_several_interruptions_and_other_numbers_of_processes(tmp_path, moments):
    moments()
    language(tmp_path, tmp_path / "whole")
    for number, workers in ((3, 1), (4, 2), (5, 1)):
        moments(number)
        with pytest.raises(KeyboardInterrupt):
            language(tmp_path, tmp_path / "out", workers=workers)
    moments()
    language(tmp_path, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_another_command_begins_anew(tmp_path, moments):
    moments(9)
    with pytest.raises(KeyboardInterrupt):
        language(tmp_path, tmp_path / "out")
    moments()
    said = []
    translation(tmp_path, tmp_path / "out", say=said.append)
    assert "going on where an interrupted run ended" not in said
    translation(tmp_path, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_file_that_is_shorter_than_told_begins_anew(tmp_path, moments):
    told = moments()
    language(tmp_path, tmp_path / "whole")
    all_lines = told["lines"]
    moments(9)
    with pytest.raises(KeyboardInterrupt):
        language(tmp_path, tmp_path / "out")
    text = tmp_path / ".out.partial" / "text" / "train.txt"
    text.write_bytes(text.read_bytes()[:-1])
    told = moments()
    language(tmp_path, tmp_path / "out")
    assert told["lines"] == all_lines
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("moment", ["manifest", "journal", "place"])
def test_a_kill_at_the_end(moment, tmp_path, monkeypatch):
    language(tmp_path, tmp_path / "whole")

    remove = shutil.rmtree

    def stop(*_, **__):
        raise KeyboardInterrupt

    def remove_and_stop(path, **options):
        remove(path, **options)
        if path.name == ".journal":
            raise KeyboardInterrupt

    place, name, function = {
        "manifest": (prepared_folder, "write_manifest", stop),
        "journal": (shutil, "rmtree", remove_and_stop),
        "place": (prepared_folder, "take_place", stop),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, function)
        with pytest.raises(KeyboardInterrupt):
            language(tmp_path, tmp_path / "out")
    assert (tmp_path / ".out.partial").exists() and not (tmp_path / "out").exists()
    if moment != "manifest":  # nothing is done again
        monkeypatch.setattr(Journal, "__init__", None)
    language(tmp_path, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_bad_input_leaves_nothing(tmp_path):
    pairs = [("a", "b")] * 20
    splits = {"train": pairs, "valid": pairs, "test": [*pairs, ("a", "<pad>")]}
    corpus = ParallelCorpus("toy", "xx", "yy", splits)
    with pytest.raises(InputError, match="<pad>"):
        write_translation_folder(
            corpus, TextOptions(tokenise="none", segment="none"), tmp_path / "out"
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [translation, language])
def test_a_killed_process(write, tmp_path, moments, monkeypatch):
    moments()
    write(tmp_path, tmp_path / "whole")
    save, times = Journal._save, []

    def save_and_die(journal):
        save(journal)
        times.append(1)
        if len(times) == 12:
            os.kill(os.getpid(), signal.SIGKILL)

    def work():
        Journal._save = save_and_die
        write(tmp_path, tmp_path / "out", workers=2)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    said = []
    write(tmp_path, tmp_path / "out", say=said.append)
    assert "going on where an interrupted run ended" in said
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
