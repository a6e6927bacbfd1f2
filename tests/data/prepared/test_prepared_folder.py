"""Prepared folders: complete or absent, checked as a whole, and no foreign file is lost."""

import errno
import os
import threading
from pathlib import Path

import pytest
from preparers import prepare

from fairseq_struct.data.prepared.evaluation_folder import write_evaluation_folder
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.similarity_folder import write_similarity_folder
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.prepared.treebank_folder import write_treebank_folder
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write_lines(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def translation(source, out, **options):
    pairs = [("a b", "c"), ("b", "d")]
    corpus = ParallelCorpus("toy", "x", "y", dict.fromkeys(SPLITS, pairs))
    text = TextOptions(tokenise="none", segment="none")
    return write_translation_folder(corpus, text, out, **options)


def labelled(source, out, **options):
    instances = [Instance(("a b",), "yes", 1), Instance(("b",), "no", 2)]
    return write_labelled_folder(
        LabelledCorpus("toy", dict.fromkeys(SPLITS, instances)), out, **options
    )


def language(source, out, **options):
    files = {split: write_lines(source / split, "a b", "b") for split in SPLITS}
    return write_language_folder(files, out, **options)


def treebank(source, out, **options):
    tree = Sentence(("a", "b"), (2, 0))
    return write_treebank_folder(dict.fromkeys(SPLITS, [tree]), out, **options)


def evaluation(source, out, **options):
    write_lines(source / "wsj_2301.mrg", "( (NP (NN Oil)) )")
    return write_evaluation_folder(source, out, **options)


def similarity(source, out, **options):
    (source / "STSBenchmark").mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        write_lines(source / "STSBenchmark" / f"sts-{split}.csv", "c\tf\ty\t1\t5.0\ta b\tb")
    return write_similarity_folder(source, write_lines(source / "dict.txt", "a 1"), out, **options)


@pytest.mark.parametrize(
    "write", [translation, labelled, language, treebank, evaluation, similarity]
)
def test_all_preparers_decide_alike(write, tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    manifest = write(source, out)
    before = everything(out)
    assert {*manifest["files"], "manifest.json"} == set(before)
    lines = []
    assert write(source, out, say=lines.append) == manifest
    assert lines == [f"{out} is complete with these inputs and options; nothing to do"]

    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "checkpoint_best.pt").write_text("weeks of work")
    assert write(source, out) == manifest  # a folder that is not written may hold anything
    with pytest.raises(InputError, match=r"holds checkpoints/checkpoint_best\.pt, which"):
        write(source, out, overwrite=True)
    assert (out / "checkpoints" / "checkpoint_best.pt").read_text() == "weeks of work"

    (out / "checkpoints" / "checkpoint_best.pt").rename(tmp_path / "mine")
    with pytest.raises(InputError, match="holds checkpoints, which would be lost"):
        write(source, out, overwrite=True)
    (out / "checkpoints").rmdir()
    assert write(source, out, overwrite=True) == manifest
    assert everything(out) == before
    assert sorted(os.listdir(tmp_path)) == ["mine", "out", "source"]


@pytest.mark.parametrize("options", [{}, {"overwrite": True}])
def test_folders_of_others_stay(tmp_path, options):
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("all of it")
    with pytest.raises(InputError, match="is not a prepared folder"):
        prepare(tmp_path, **options)
    with pytest.raises(InputError, match="is a file, not a folder"):
        prepare(thesis, **options)
    (tmp_path / "manifest.json").write_text('{"name": "a web extension"}')
    with pytest.raises(InputError, match="is not a prepared folder"):
        prepare(tmp_path, **options)
    assert thesis.read_text() == "all of it"


def test_other_options_are_named(tmp_path):
    prepare(tmp_path / "out", 1)
    with pytest.raises(InputError, match=r"options: number \(1, now 2\); .* --overwrite"):
        prepare(tmp_path / "out", 2)
    prepare(tmp_path / "out", 2, overwrite=True)
    assert (tmp_path / "out" / "deep" / "file").read_text() == "2"
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_with_a_missing_file_is_not_complete(tmp_path):
    prepare(tmp_path / "out")
    for spoil in (Path.unlink, lambda path: path.write_text("")):
        spoil(tmp_path / "out" / "deep" / "file")
        with pytest.raises(InputError, match=r"deep/file: is missing or was changed"):
            prepare(tmp_path / "out")
        prepare(tmp_path / "out", overwrite=True)
        prepare(tmp_path / "out")


@pytest.mark.parametrize("there", [True, False], ids=["folder", "dangling"])
def test_a_link_stays_a_link(tmp_path, there):
    (tmp_path / "disk").mkdir()
    if there:
        (tmp_path / "disk" / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "real")
    for number in (1, 2):
        prepare(tmp_path / "out", number, overwrite=number == 2)
        assert (tmp_path / "out").is_symlink()
        assert (tmp_path / "disk" / "real" / "deep" / "file").read_text() == str(number)
        assert sorted(os.listdir(tmp_path)) == ["disk", "out"]
        assert os.listdir(tmp_path / "disk") == ["real"]


def test_links_in_a_folder_are_somebody_s(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    prepare(tmp_path / "out")
    (tmp_path / "out" / "deep" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="deep/link, which would be lost"):
        prepare(tmp_path / "out", overwrite=True)


def test_a_mount_point_is_told_before_work(monkeypatch, tmp_path):
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="is a mount point"):
        prepare(tmp_path / "out")


@pytest.mark.parametrize(("inside", "out"), [("", "."), ("deep", "..")])
def test_the_folder_one_is_in_is_not_replaced(monkeypatch, tmp_path, inside, out):
    prepare(tmp_path / "out", 1)
    before = (tmp_path / "out").stat().st_ino
    monkeypatch.chdir(tmp_path / "out" / inside)
    with pytest.raises(InputError, match=rf"^{out}: is or holds the current folder, which cannot"):
        prepare(out, 2, overwrite=True)
    assert (tmp_path / "out").stat().st_ino == before
    assert prepare(tmp_path / "out", 1)["options"] == {"number": 1}  # which is there already
    prepare("new", 2)


def test_what_stepped_aside_comes_back(tmp_path):
    prepare(tmp_path / "out", 1)
    (tmp_path / "out").rename(tmp_path / ".out.old")
    assert prepare(tmp_path / "out", 1)["options"] == {"number": 1}
    assert os.listdir(tmp_path) == ["out"]
    (tmp_path / "out").rename(tmp_path / ".out.old")
    with pytest.raises(InputError, match="options: number"):  # the restored folder has 1
        prepare(tmp_path / "out", 2)


def test_a_file_that_comes_meanwhile_stays(tmp_path):
    out = tmp_path / "out"
    prepare(out, 1)

    def fill(folder):
        (out / "checkpoint_last.pt").write_text("just trained")
        return {}

    with pytest.raises(InputError, match=r"checkpoint_last\.pt, which would be lost"):
        write_prepared_folder(out, {"options": {"number": 2}}, fill, overwrite=True)
    assert (out / "checkpoint_last.pt").read_text() == "just trained"
    assert (out / "deep" / "file").read_text() == "1"
    assert os.listdir(tmp_path) == ["out"]


def test_of_two_processes_one_waits(tmp_path):
    """The lock shows whether the other process is alive; its process number does not."""
    begun, waiting, lines = threading.Event(), threading.Event(), []

    def fill(folder):
        begun.set()
        waiting.wait()
        (folder / "file").write_text("once")
        return {}

    def make_first():
        try:
            write_prepared_folder(tmp_path / "out", {}, fill)
        finally:
            begun.set()

    def say(line):
        lines.append(line)
        waiting.set()

    first = threading.Thread(target=make_first)
    first.start()
    begun.wait()
    try:
        manifest = write_prepared_folder(tmp_path / "out", {}, pytest.fail, say=say)
    finally:
        waiting.set()
        first.join()
    assert manifest["files"] == {"file": 4}
    assert len(lines) == 2 and lines[0].startswith("waiting ")
    assert lines[1].startswith(f"{tmp_path / 'out'} ")
    assert os.listdir(tmp_path) == ["out"]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    def fill(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match=r"new/out: cannot be written \(No space left"):
        write_prepared_folder(tmp_path / "new" / "out", {}, fill)
    assert os.listdir(tmp_path) == []
    prepare(tmp_path / "out")
    with pytest.raises(InputError, match="No space left"):
        write_prepared_folder(tmp_path / "out", {}, fill, overwrite=True)
    assert prepare(tmp_path / "out")["count"] == 1
    with pytest.raises(FileNotFoundError):  # other errors pass unchanged

        def read(folder):
            return {"text": (tmp_path / "missing").read_text()}

        write_prepared_folder(tmp_path / "other", {}, read)


def test_where_nothing_can_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("out", "deep/out"):
        with pytest.raises(InputError, match="/file: is a file, not a folder"):
            prepare(tmp_path / "file" / out)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="cannot be written|is a file"):
        prepare(tmp_path / "loop" / "out")
