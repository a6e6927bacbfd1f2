"""The words below the title of a page explain what is drawn on it, and nothing else."""

import io

import pytest
from stored_models import STORED

from fairseq_struct.cli.main import main
from fairseq_struct.cli.pictures.trees import OF_GOLD, OF_PROBABILITIES

GOLD = "1\tone\t_\t_\t_\t_\t2\t_\t_\t_\n2\ttwo\t_\t_\t_\t_\t0\t_\t_\t_\n\n"


@pytest.mark.parametrize(
    ("arch", "command", "gold", "expected"),
    [
        ("udgn", ["draw", "--what=trees"], False, []),
        ("udgn", ["draw", "--probabilities"], False, [OF_PROBABILITIES]),
        ("udgn", ["draw", "--probabilities"], True, [OF_GOLD, OF_PROBABILITIES]),
        ("udgn", ["draw"], True, [OF_GOLD]),
        ("udgn", ["parse", "--format=html"], False, []),
        ("udgn", ["parse", "--format=html"], True, [OF_GOLD]),
        ("udgn", ["parse", "--format=html", "--probabilities"], False, [OF_PROBABILITIES]),
        ("on_lstm_lm", ["parse", "--format=html", "--probabilities"], False, []),
    ],
)
def test_colours_are_explained_where_they_are(
    arch, command, gold, expected, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr("sys.stdin", io.StringIO("one two\n"))
    (tmp_path / "gold.conllu").write_text(GOLD)
    options = [f"--gold={tmp_path}/gold.conllu"] if gold else []
    verb, *others = command
    data = str(STORED / "language" / "data-bin")
    assert main([verb, str(STORED / f"{arch}.pt"), "--data", data, *others, *options]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>")
    assert [text for text in (OF_GOLD, OF_PROBABILITIES) if text in page] == expected
