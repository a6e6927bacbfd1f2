"""What parse, classify and translate read, write, and say on standard error."""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared import output
from fairseq_struct.cli.shared.paths import require_room
from fairseq_struct.data.readers.conllu import read_conllu, to_conllu

TEXT = ["one two three", "nine four"]
# Verb: checkpoint, data, and further options.
VERBS = {
    "parse": ("udgn", "language", []),
    "classify": ("latent_tree_classifier", "single", []),
    "translate": ("scheduled_sampling_transformer", "translation",
                  ["--segmented", "--max-len-b=9"]),
}  # fmt: skip


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run a verb on lines; return its status, standard output and standard error."""

    def run(verb, *options, lines=TEXT, arch=None, data=None):
        stored, folder, more = VERBS[verb]
        path = tmp_path / "lines"
        path.write_text("".join(f"{line}\n" for line in lines))
        place = STORED / (data or folder) / "data-bin"
        with path.open() as file:
            monkeypatch.setattr("sys.stdin", file)
            status = main([verb, str(STORED / f"{arch or stored}.pt"), f"--data={place}",
                           *(more if arch is None else []), *map(str, options)])  # fmt: skip
        said = capsys.readouterr()
        errors = said.err.splitlines(keepends=True)  # kernels may be compiled here, which is said
        return status, said.out, "".join(one for one in errors if ": compiling" not in one)

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_has_what_standard_output_has(call, verb, tmp_path):
    status, text, summary = call(verb)
    assert status == 0 and text and summary.startswith("2 ")
    assert call(verb, f"--output={tmp_path / 'out'}") == (0, "", summary)
    assert (tmp_path / "out").read_text() == text
    assert call(verb, "--quiet")[1:] == (text, "")
    assert call(verb, "--output", "-") == (0, text, summary)
    assert call(verb, "--input", "-") == (0, text, summary)
    status, lines, _ = call(verb, "--json")
    found = [json.loads(line) for line in lines.splitlines()]
    assert status == 0 and len(found) == 2
    key = {"parse": "heads", "classify": "label", "translate": "translation"}[verb]
    model = load(STORED / f"{VERBS[verb][0]}.pt", STORED / VERBS[verb][1] / "data-bin",
                 **({"segmented": True} if verb == "translate" else {}))  # fmt: skip
    settings = {"max_len_b": 9} if verb == "translate" else {}
    results = getattr(model, verb)(TEXT, **settings)
    assert [one[key] for one in found] == results
    assert [one.to_dict() for one in results] == found


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_half_written(call, verb, tmp_path):
    (tmp_path / "out").write_text("before")
    too_long = [*TEXT, " ".join(["one"] * 3000)]
    status, text, error = call(verb, f"--output={tmp_path / 'out'}", lines=too_long)
    assert status == 2 and text == "" and "line 3" in error
    assert (tmp_path / "out").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines", "out"]
    status, _, error = call(verb, f"--output={tmp_path}/nowhere/out")
    assert status == 2 and error == f"error: {tmp_path}/nowhere: no such folder\n"


def test_probabilities_of_arcs(call, tmp_path):
    status, text, _ = call("parse", "--probabilities")
    (tmp_path / "x.conllu").write_text(text)
    parses = load(STORED / "udgn.pt", STORED / "language" / "data-bin").parse(TEXT)
    assert [tree.heads for tree in read_conllu(tmp_path / "x.conllu")] == parses
    column = [line.split("\t")[9] for line in text.splitlines() if line[:1].isdigit()]
    expected = [one for parse in parses for one in parse.probabilities]
    assert column == [f"Prob={one:.4f}" for one in expected]
    plain = call("parse")[1]
    assert plain == "".join(
        line.replace(f"\tProb={line.rpartition('=')[2].strip()}", "\t_")
        for line in text.splitlines(keepends=True)
    )
    lines = call("parse", "--json", "--probabilities")[1].splitlines()
    objects = [json.loads(line) for line in lines]
    assert [one for found in objects for one in found["probabilities"]] == pytest.approx(
        expected, abs=1e-6
    )
    assert "probabilities" not in call("parse", "--json")[1]
    page = call("parse", "--format=html", "--probabilities")[1]
    assert page.count("<svg") == 2
    for one in parses:
        faint = set(re.findall('opacity="[^"]+"', one.to_svg()))
        assert faint and all(opacity in page for opacity in faint)


def test_a_page_counts_what_differs_from_gold_trees(call, tmp_path):
    gold = tmp_path / "gold.conllu"
    gold.write_text(call("parse")[1])
    right = call("parse", "--format=html", f"--gold={gold}", lines=[])[1]
    assert right.count("<svg") == 2 and "differ</b>" not in right
    found = [tree.heads for tree in read_conllu(gold)][1]
    other = [0, 1] if list(found) == [2, 0] else [2, 0]  # the only other tree of two words
    gold.write_text(to_conllu(TEXT[1].split(), other))
    page = call("parse", "--format=html", f"--gold={gold}", lines=[])[1]
    assert page.count("<svg") == 1 and "2 differ</b>" in page
    gold = tmp_path / "gold.txt"
    gold.write_text("(S (A one) (B two))\n")
    status, text, error = call("parse", "--format=html", f"--gold={gold}", lines=[])
    assert status == 2 and text == "" and "the gold trees are constituents" in error


def test_distances(call):
    status, text, _ = call("parse", "--probabilities", arch="on_lstm_lm", data="language")
    parses = load(STORED / "on_lstm_lm.pt", STORED / "language" / "data-bin").parse(TEXT)
    assert status == 0
    for line, parse in zip(text.splitlines(), parses, strict=True):
        tree, distances = line.split("\t")
        assert tree == parse.to_brackets()
        assert distances == " ".join(f"{one:.4f}" for one in parse.distances)


@pytest.mark.parametrize(
    ("arch", "data", "options", "message"),
    [
        ("ordered_memory_classifier", "pairs", ["--probabilities"],
         "gives neither probabilities of arcs nor distances"),
        ("udgn", "language", ["--json", "--format=conllu"], "--json is a format of its own"),
        ("udgn", "language", [f"--gold={__file__}"], "--gold is for --format html"),
    ],
)  # fmt: skip
def test_what_parse_cannot_write(call, arch, data, options, message):
    status, text, error = call("parse", *options, arch=arch, data=data)
    assert status == 2 and text == "" and message in error


def test_lines_of_translate(call):
    lines = ["one two", "", "nine"]
    plain = call("translate", lines=lines)[1].split("\n")
    assert len(plain) == 4 and plain[1] == plain[3] == "" and plain[0] and plain[2]
    several = call("translate", "--n-best=2", lines=lines)[1].split("\n")[:-1]
    assert several[::2] == plain[:3] and several[2:4] == ["", ""] and len(several) == 6
    scored = call("translate", "--scores", lines=lines)[1].split("\n")[:-1]
    assert scored[1] == "" and [line.split("\t")[1] for line in scored[::2]] == plain[:3:2]
    for line in scored[::2]:
        score, text, symbols = line.split("\t")
        numbers = list(map(float, symbols.split()))
        assert float(score) == pytest.approx(sum(numbers) / len(numbers), abs=1e-3)
        assert len(numbers) == len(text.split()) + 1
    drawn = [call("translate", "--sample", f"--seed={seed}", lines=["one"] * 9)[1]
             for seed in (1, 1, 2)]  # fmt: skip
    assert drawn[0] == drawn[1] != drawn[2]
    summary = call("translate", lines=["one unheard", "two"])[2]
    assert summary == "2 sentences translated; 1 of 3 symbols unknown to the model\n"
    status, _, error = call("translate", "--beam=0")
    assert status == 2 and error == "error: --beam must be 1 or more, not 0\n"
    status, _, error = call("translate", arch="scheduled_sampling_transformer")
    assert status == 2 and "manifest.json: no such file" in error and error.count("\n") == 1
    status, _, error = call("translate", arch="udgn", data="language")
    assert status == 2 and "is not a translation model" in error


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_for_files_on_a_terminal(tmp_path, monkeypatch):
    (tmp_path / "lines").write_text("a\nb\nc")
    terminal = Terminal()

    def shown(*options):
        """What a bar of three lines writes."""
        before = len(terminal.getvalue())
        with output.progress(*options, lambda: output.lines_ahead(file)) as seen:
            for _ in range(3):
                seen(1)
        return terminal.getvalue()[before:]

    with (tmp_path / "lines").open() as file:
        assert shown(False, None) == ""  # no terminal
        monkeypatch.setattr("sys.stderr", terminal)
        assert shown(True, None) == ""
        assert "3/3" in shown(False, None)
        monkeypatch.setattr("sys.stdout", Terminal())
        assert shown(False, None) == ""  # would break into the output
        assert "3/3" in shown(False, tmp_path / "out")
        assert file.read() == "a\nb\nc"  # counting reads nothing


def test_lines_ahead(tmp_path):
    for text, count in (("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3)):
        (tmp_path / "x").write_text(text)
        with (tmp_path / "x").open() as file:
            assert output.lines_ahead(file) == count
    reader, writer = os.pipe()
    with os.fdopen(reader) as pipe, os.fdopen(writer, "w"):
        assert output.lines_ahead(pipe) is None
    assert output.lines_ahead(io.StringIO("a")) is None and output.lines_ahead(None) is None


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        ("parse", ["--input=TEXT", "--output=TEXT"], "text: is read, too; name another"),
        ("parse", ["--input=TEXT", "--output=sub/../text"], "text: is read, too; name another"),
        ("parse", ["--input=TEXT", "--output=MODEL"], "model.pt: is read, too; name another"),
        ("parse", ["--known=TEXT", "--output=TEXT"], "text: is read, too; name another"),
        ("parse", ["--input=TEXT", "--output=LINK"], "link: is read, too; name another file"),
        ("translate", ["--input=TEXT", "--output=TEXT"], "text: is read, too; name another"),
        ("classify", ["--input=TEXT", "--trees=MODEL"], "model.pt: is read, too; name another"),
        ("classify", ["--trees=new", "--output=new"], "new: is to be written twice"),
        ("channels", ["TEXT", "--table=TEXT"], "text: is read, too; name another file to write"),
        ("draw", ["--output=MODEL"], "model.pt: is read, too; name another"),
        ("rollout", ["AC", "--picture=MODEL"], "model.pt: is read, too; name another"),
    ],
)
def test_what_is_read_is_not_overwritten(verb, options, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "sub").mkdir()
    for name in ("text", "model.pt"):
        (tmp_path / name).write_text("kept\n")
    (tmp_path / "link").symlink_to(tmp_path / "text")
    monkeypatch.chdir(tmp_path)
    names = {"TEXT": "text", "MODEL": "model.pt", "LINK": "link"}
    for mark, name in names.items():
        options = [option.replace(mark, name) for option in options]
    assert main([verb, "model.pt", *options]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "text").read_text() == (tmp_path / "model.pt").read_text() == "kept\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output="], "--output '': name a file or a folder, or - for standard output"),
        (["--input="], "--input '': name a file or a folder, or - for standard input"),
        (["--input=-", "--input=x"], "--input x: is a second --input; of several files, name "),
        (["--trees=new/"], "--trees 'new/': name a file to write"),
        (["--trees=-"], "--trees '-': name a file to write"),
    ],
)
def test_names_of_files_that_are_none(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.pt").touch()
    assert main(["classify", "model.pt", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert os.listdir() == ["model.pt"]


def test_a_device_may_be_named_twice():
    require_room(Path(os.devnull), Path(os.devnull), inputs=[os.devnull])


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_a_reader_that_has_seen_enough_ends_no_other_file(tmp_path, monkeypatch, workers):
    """As with ``classify --trees FILE | head -1``."""
    text, trees = tmp_path / "text", tmp_path / "trees.conllu"
    text.write_text("one two\n" * 30)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as nobody, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", nobody)
        assert main(["classify", str(STORED / "latent_tree_classifier.pt"), "--input", str(text),
                     "--data", str(STORED / "single" / "data-bin"), "--trees", str(trees),
                     *workers]) == 0  # fmt: skip
        patch.undo()
        with contextlib.suppress(BrokenPipeError):
            nobody.flush()
    assert trees.read_text().count("1\tone") == 30
