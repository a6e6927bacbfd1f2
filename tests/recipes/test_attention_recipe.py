"""The recipe of sequence completion: inputs that it refuses, a run from end to end, figures."""

import json
import sys

import pytest
from fairseq_commands import ROOT
from recipe_calls import refusal_of, run_recipe

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import Result, append_result

RECIPES = ROOT / "recipes" / "undirected"
TINY = {"SIZE": "cpu", "SHARE": "0.005", "UPDATES": "3", "HIDDEN": "4", "RECORD": "0"}


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ([], {}, "usage: attention.sh PASSES"),
        (["6"], {}, "unknown PASSES '6'; choose one of: 1 2 3 4 5 random_k self_attention"),
        (["1", "backward"], {}, "unknown order 'backward'"),
        (["1", "random", "lengths"], {}, "unknown split 'lengths'"),
        (["self_attention", "random"], {}, "self_attention has no order of updates"),
        (["1"], {"HIDDEN": "0"}, "HIDDEN must be a whole number above 0"),
        (["1"], {"SIZE": "tiny"}, "SIZE must be paper or cpu, not 'tiny'"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, arguments, settings, message):
    said = refusal_of("undirected", tmp_path / "out", "attention", *arguments, **settings)
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "variant", "updates"),
    [
        (["2"], "k2", "18.00"),
        (["random_k", "random", "runs"], "random_k_random_order_runs", "15.00"),
        (["self_attention"], "self_attention", None),
    ],
)
def test_rows_are_trained_and_scored(tmp_path, monkeypatch, arguments, variant, updates):
    status, said = run_recipe("undirected", tmp_path, "attention", *arguments, SEEDS="1 2", **TINY)
    assert status == 0, said
    line = said.splitlines()[-1]
    assert line.startswith(f"sequence_completion {variant}: accuracy ") and "(2 seeds)" in line
    assert (f"variable_updates {updates} " in line) if updates else "variable_updates" not in line
    manifest = json.loads(next(tmp_path.rglob("manifest.json")).read_text())
    assert manifest["options"]["split"] == ("runs" if "runs" in arguments else "random")
    if "runs" in arguments:
        with pytest.raises(InputError, match="no runs of attention.sh"):  # of the random split
            draw(monkeypatch, "5.5", "--runs", tmp_path / "attention", tmp_path / "curves.png")
    elif updates:
        draw(monkeypatch, "5.5", "--runs", tmp_path / "attention", tmp_path / "curves.png")
        (shorter := tmp_path / "attention" / variant / "updates_1" / "seed_1").mkdir(parents=True)
        with pytest.raises(InputError, match="several settings; keep those of one"):
            draw(monkeypatch, "5.5", "--runs", tmp_path / "attention", tmp_path / "curves.png")
        shorter.rmdir()


def test_updates_are_drawn_from_records(tmp_path, monkeypatch):
    records = tmp_path / "results.jsonl"
    for variant, updates in (("k1", 9), ("k2", 18), ("k1_random_order", 5), ("self_attention", 0)):
        for seed in (1, 2):
            metrics = {"accuracy": 90.0 + seed} | ({"variable_updates": updates} if updates else {})
            append_result(records, Result(
                "sequence_completion", variant, metrics, {}, "reduced", "runs", seed, 10, "cpu",
                1.0, "attention.sh",
            ))  # fmt: skip
    draw(monkeypatch, "5.6", "--records", records, tmp_path / "updates.png")
    import attention_figures

    found = attention_figures.by_updates(records)
    assert found == {
        "forward-backward": {9: [91.0, 92.0], 18: [91.0, 92.0]}, "random": {5: [91.0, 92.0]}
    }  # fmt: skip
    with pytest.raises(InputError, match="no runs of attention.sh"):
        attention_figures.learning_curves(tmp_path)
    with pytest.raises(InputError, match="updates.html: figures are .png"):
        draw(monkeypatch, "5.6", "--records", records, tmp_path / "updates.html")
    append_result(records, Result(
        "sequence_completion", "k2", {"accuracy": 99.0, "variable_updates": 18}, {}, "reduced",
        "runs", 3, 20, "cpu", 1.0, "attention.sh",
    ))  # fmt: skip
    with pytest.raises(InputError, match="completion k2: its records differ in their updates"):
        attention_figures.by_updates(records)


def draw(monkeypatch, figure, *arguments):
    """Draw a figure; the last argument is the picture."""
    monkeypatch.syspath_prepend(str(RECIPES))
    import attention_figures

    given = [*map(str, arguments[:-1]), "--output", str(arguments[-1])]
    monkeypatch.setattr(sys, "argv", ["attention_figures.py", figure, *given])
    attention_figures.main()
    assert arguments[-1].read_bytes().startswith(b"\x89PNG")
