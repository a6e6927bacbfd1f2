"""Probabilities of arcs are drawn for all models of dependency trees."""

import io
import re

import pytest
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.cli.main import main

LINE = "one two three"


def draw(arch, data, monkeypatch, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LINE}\n"))
    folder = STORED / data / "data-bin"
    return main(["draw", str(STORED / f"{arch}.pt"), "--data", str(folder), "--what=marginals",
                 *map(str, options)])  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "data"), [("udgn", "language"), ("latent_tree_classifier", "single")]
)
def test_each_cell_is_the_marginal_of_an_arc(arch, data, monkeypatch, tmp_path):
    assert draw(arch, data, monkeypatch, "--output", tmp_path / "x.svg") == 0
    drawn = re.findall(r"→ [^:<]+: (\d\.\d{3})<", (tmp_path / "x.svg").read_text())
    model = load(STORED / f"{arch}.pt", STORED / data / "data-bin")
    if arch == "udgn":
        (parse,) = model.parse([LINE])
    else:
        (parse,) = model.classify([LINE])[0].trees
    expected = [f"{one:.3f}" for one in parse.marginals.flatten().tolist()]
    assert sorted(drawn) == sorted(expected)


def test_models_of_constituents_have_none(monkeypatch, capsys):
    assert draw("on_lstm_lm", "language", monkeypatch) == 2
    assert "on_lstm_lm.pt: has no probabilities of dependency arcs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--what=memory"], "udgn.pt: UDGNModel has no memory, attention or steps to draw"),
        (["--what=memory", "--gold", __file__], "--gold is for --what steps or units or trees"),
        (["--what=trees", "--gold", "nowhere"], "nowhere: no such file"),
        (["--probabilities"], "--probabilities is for --what trees"),
    ],
)
def test_what_cannot_be_drawn(options, message, monkeypatch, capsys):
    assert draw("udgn", "language", monkeypatch, *options) == 2
    assert message in capsys.readouterr().err
