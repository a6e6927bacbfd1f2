"""Folders as input and output of parse, classify and translate, and going on after a stop."""

import gzip
import os
import shutil

import pytest
from stored_models import STORED

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared import text_input
from fairseq_struct.inference import reading

LINES = [f"{' '.join(['one', 'two', 'three', 'four'][: 1 + n % 4])} nine" for n in range(11)]
MODEL = STORED / "udgn.pt"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Four lines at a time, so that a few lines are several chunks."""
    for module in (reading, text_input):
        monkeypatch.setattr(module, "WINDOW", 4)


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Parse lines; return the status, standard output and standard error."""

    def run(*options, lines=LINES, model=MODEL, verb="parse"):
        (tmp_path / "stdin").write_text("".join(f"{line}\n" for line in lines))
        with (tmp_path / "stdin").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            status = main([verb, str(model), f"--data={STORED / 'language' / 'data-bin'}",
                           *map(str, options)])  # fmt: skip
        said = capfd.readouterr()
        errors = said.err.splitlines(keepends=True)  # kernels may be compiled here, which is said
        return status, said.out, "".join(one for one in errors if ": compiling" not in one)

    return run


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def joined(folder):
    return "".join(path.read_text() for path in sorted(folder.glob("[!.]*")))


@pytest.mark.parametrize("place", ["out.txt", "out/"])
def test_nothing_is_written_into_the_folder_that_is_read(call, place, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("".join(f"{line}\n" for line in LINES))
    status, text, error = call(f"--input={tmp_path}/in", f"--output={tmp_path}/in/{place}")
    assert (status, text) == (2, "") and "lies in the folder of the input; name ano" in error
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.txt"]


@pytest.mark.parametrize("options", [[], ["--workers=2"]])
def test_a_part_of_each_chunk(call, options, tmp_path):
    _, text, summary = call()
    assert call(f"--output={tmp_path}/out/", *options) == (0, "", summary)
    parts = [path.name for path in sorted((tmp_path / "out").glob("[!.]*"))]
    assert parts == ["part-00001", "part-00002", "part-00003"] and joined(tmp_path / "out") == text
    whole = content_of(tmp_path / "out")
    # Of the same size, so that it stays, unless it is made again.
    (tmp_path / "out" / "part-00002").write_bytes(b"x" * len(whole["part-00002"]))
    (tmp_path / "out" / "part-00003").unlink()
    assert call(f"--output={tmp_path}/out", *options) == (0, "", summary)
    kept = content_of(tmp_path / "out")
    assert set(kept.pop("part-00002")) == set(b"x") and kept.items() < whole.items()


def test_it_goes_on_after_a_bad_line_that_is_mended(call, tmp_path):
    out, bad = tmp_path / "out", [*LINES[:9], "", *LINES[10:]]
    status, _, error = call(f"--output={out}/", "--workers=2", lines=bad)
    assert status == 2 and error == "error: line 10: empty sentence\n"
    before = content_of(out)
    assert {name for name in before if name[0] != "."} == {"part-00001", "part-00002"}
    _, text, summary = call()
    assert call(f"--output={out}") == (0, "", summary)
    assert joined(out) == text and before["part-00001"] == content_of(out)["part-00001"]
    # More text than before, from a file, is only added.
    _, text, summary = call(lines=LINES[:8] + LINES)
    (out / "part-00003").unlink()
    named = ["--input", tmp_path / "stdin", f"--output={out}"]
    assert call(*named, lines=LINES[:8] + LINES) == (0, "", summary) and joined(out) == text


@pytest.mark.parametrize("options", [[], ["--workers=2"]])
def test_a_part_of_each_file(call, options, tmp_path):
    texts = {"a.txt": LINES, "b": [], "c.tmp": LINES[:8], "c": LINES[:4], "e": ["nine"]}
    (tmp_path / "in").mkdir()
    for name, lines in texts.items():
        (tmp_path / "in" / name).write_text("\n".join(lines))
    (tmp_path / "in" / ".hidden").write_bytes(b"\xff")
    alone = {name: call(lines=lines)[1] for name, lines in texts.items()}
    given = [f"--input={tmp_path / 'in'}", *options]
    status, text, summary = call(*given)
    assert (status, text) == (0, "".join(alone[name] for name in sorted(texts)))
    assert summary.startswith("24 trees")
    assert call(*given, f"--output={tmp_path / 'one'}") == (0, "", summary)
    assert (tmp_path / "one").read_text() == text
    out = tmp_path / "out"
    assert call(*given, f"--output={out}/") == (0, "", summary)
    whole = content_of(out)
    assert {name: part.decode() for name, part in whole.items() if name[0] != "."} == alone
    assert call(*given, f"--output={out}") == (0, "", summary) and content_of(out) == whole
    (tmp_path / "in" / "d").write_text("one\n" * 5 + "\none\n")
    (tmp_path / "in" / "e").write_text("other\n")
    status, _, error = call(*given, f"--output={out}")
    assert status == 2 and error == f"error: {tmp_path / 'in' / 'd'}: line 6: empty sentence\n"
    assert content_of(out) == whole


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (LINES, ["--multiple-roots"], "with another --multiple-roots (False, now True)"),
        (LINES, ["--batch-words=99"], "with another --batch-words (4000, now 99)"),
        (["two", *LINES[1:]], [], "part-00001: was made of other text; name another folder"),
        (LINES[:10], [], "part-00003: was made of other text; name another folder"),
        (LINES[:8], [], "part-00003: was made of text that the input has no more"),
    ],
)
def test_other_results_are_not_mixed_in(call, lines, options, message, tmp_path):
    out = tmp_path / "out"
    assert call(f"--output={out}/")[0] == 0
    before = content_of(out)
    status, _, error = call(f"--output={out}", *options, lines=lines)
    assert status == 2 and message in error and error.count("\n") == 1
    assert content_of(out) == before


def test_another_model_is_refused_and_the_same_one_elsewhere_is_not(call, tmp_path):
    out = tmp_path / "out"
    call(f"--output={out}/")
    status, _, error = call(f"--output={out}", model=STORED / "structformer.pt")
    assert status == 2 and "out: its parts were made with another model; name" in error
    model = shutil.copy(MODEL, tmp_path / "moved.pt")
    assert call(f"--output={out}", "--workers=2", "--device=cpu", model=model)[0] == 0


def test_the_card_of_an_exported_model_may_be_edited(call, tmp_path):
    data, models = STORED / "language" / "data-bin", {}
    for name in ("udgn", "structformer"):
        models[name] = fairseq_struct.export(STORED / f"{name}.pt", tmp_path / name, data=data)
    out = tmp_path / "out"
    assert call(f"--output={out}/", model=models["udgn"])[0] == 0
    (models["udgn"] / "README.md").write_text("edited")
    assert call(f"--output={out}", model=models["udgn"])[0] == 0
    status, _, error = call(f"--output={out}", model=models["structformer"])
    assert status == 2 and "out: its parts were made with another model; name" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output=nowhere/out/"], "nowhere: no such folder"),
        (["--output=HERE/in/a/"], "HERE/in/a: is a file, not a folder"),
        (["--output=HERE/in/a/out/"], "HERE/in/a: is a file, not a folder"),
        (["--output=HERE/in/a/out"], "HERE/in/a: is a file, not a folder"),
        (["--output=HERE"], "HERE: holds empty, and no parts of this command"),
        (["--input=HERE/in", "--output=HERE/in"], "HERE/in: holds the input; name another"),
        (["--input=HERE/in/a", "--output=HERE/in/"], "HERE/in: holds the input; name another"),
        (["--input=HERE/empty"], "HERE/empty: holds no file"),
        (["--input=HERE"], "HERE/empty: is a folder; the input is a file or a folder of files"),
        (["--format=html", "--output=HERE/empty"], "--format html is for one process, without"),
    ],
)
def test_folders_that_cannot_be_used(call, options, message, tmp_path):
    for name in ("in", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "a").write_text("one\n")
    status, _, error = call(*(one.replace("HERE", str(tmp_path)) for one in options))
    assert status == 2 and message.replace("HERE", str(tmp_path)) in error
    assert error.count("\n") == 1 and not os.listdir(tmp_path / "empty")


def test_parts_of_compressed_files_are_named_as_what_they_hold(call, tmp_path):
    given, out = tmp_path / "in", tmp_path / "out"
    given.mkdir()
    (given / "a.txt.gz").write_bytes(gzip.compress(b"one two\n"))
    (given / "b.txt").write_text("one two\n")
    assert call(f"--input={given}", f"--output={out}/")[0] == 0
    assert sorted(one for one in os.listdir(out) if one[0] != ".") == ["a.txt", "b.txt"]
    assert (out / "a.txt").read_bytes() == (out / "b.txt").read_bytes()
    (given / "a.txt").write_text("one\n")
    status, _, error = call(f"--input={given}", f"--output={out}")
    assert status == 2 and "a.txt.gz: a.txt has the same name without its ending" in error


def test_trees_of_a_classifier_are_one_file(call, tmp_path):
    options = [f"--output={tmp_path}/out/", f"--trees={tmp_path}/trees"]
    status, _, error = call(*options, verb="classify")
    assert status == 2 and error.startswith("error: --trees is one file, but --output a folder")
