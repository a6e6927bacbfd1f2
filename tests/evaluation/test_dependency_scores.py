"""``fairseq-struct evaluate`` of dependency trees."""

import json

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import to_conllu

GOLD = "The\tDT\t2\ndog\tNN\t3\nbarks\tVBZ\t0\n,\t,\t3\nloudly\tRB\t4\n\nYes\tUH\t0\n.\t.\t1\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "gold.dp").write_text(GOLD)
    return tmp_path


def evaluate(capsys, *arguments):
    status = main(["evaluate", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def write(path, *trees):
    path.write_text("".join(to_conllu(words.split(), heads) for words, heads in trees))
    return path


def test_words_alone(files, capsys):
    """Gold heads without the comma: 2, 3, 0, 3, and a sentence of one word."""
    ours = write(files / "ours.conllu", ("the dog barks loudly", [2, 0, 2, 3]), ("yes", [0]))
    status, out, _ = evaluate(capsys, files / "gold.dp", ours, "--json")
    values = json.loads(out)
    assert status == 0 and values["sentences"] == 2 and values["words"] == 5
    assert values["uas"] == 60 and values["uuas"] == 100
    assert "removed by tag" in values["policy"]


def test_with_punctuation_and_the_same_without(files, capsys):
    trees = [("The dog barks , loudly", [2, 3, 0, 5, 3]), ("Yes .", [0, 1])]
    ours = write(files / "ours.conllu", *trees)
    values = json.loads(evaluate(capsys, files / "gold.dp", ours, "--json")[1])
    assert values["uas"] == values["uuas"] == 100
    kept = evaluate(capsys, files / "gold.dp", ours, "--json", "--keep-punctuation")[1]
    assert json.loads(kept)["uas"] == pytest.approx(100 * 5 / 7, abs=0.01)


@pytest.mark.parametrize(("chain", "uas"), [("right_chain", 40), ("left_chain", 60)])
def test_chains(files, capsys, chain, uas):
    values = json.loads(evaluate(capsys, files / "gold.dp", chain, "--json")[1])
    assert values["uas"] == uas and values["uuas"] == 100
    assert evaluate(capsys, files, "random", "--longest=1")[1].startswith("sentences    1\n")


def test_files_that_do_not_fit(files, capsys):
    other = write(files / "x.conllu", ("the cat barks loudly", [2, 0, 2, 3]), ("yes", [0]))
    assert "tree 1, line 1, has other words" in evaluate(capsys, files / "gold.dp", other)[2]
    short = write(files / "y.conllu", ("yes", [0]))
    assert "1 trees, but" in evaluate(capsys, files / "gold.dp", short)[2]
    assert "no sentence is left" in evaluate(capsys, files / "gold.dp", other, "--longest=0")[2]
