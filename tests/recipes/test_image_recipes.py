"""The recipes of undirected networks of images: inputs that they refuse, runs from end to end."""

import re
from functools import partial

import pytest
from fairseq_commands import ROOT
from recipe_calls import refusal_of, run_recipe

from fairseq_struct.cli.main import main
from fairseq_struct.records.paper_values import paper_values

RECIPES = ROOT / "recipes" / "undirected"
SMALL = {"SIZE": "cpu", "EPOCHS": "1", "CHANNELS": "5", "SEEDS": "1", "RECORD": "0"}
run = partial(run_recipe, "undirected")


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("mnist", [], {}, "usage: mnist.sh K DATA [forward_only|untied]"),
        ("mnist", ["6"], {}, "unknown K '6'; choose one of: 1 2 3 4 5 random_k converge"),
        ("mnist", ["1"], {}, "name the folder of MNIST's idx files"),
        ("mnist", ["1", "nowhere"], {}, "nowhere: no such folder"),
        ("mnist", ["1", ".", "tied"], {}, "unknown kind 'tied'"),
        ("mnist", ["random_k", ".", "untied"], {}, "unknown K of untied networks 'random_k'"),
        ("mnist", ["1", "."], {"SIZE": "small"}, "SIZE must be paper or cpu, not 'small'"),
        ("mnist_initialisation", ["converge"], {}, "unknown K 'converge'"),
        ("mnist_prototypes", ["untied"], {}, "unknown network 'untied'"),
        ("adaptive_passes", ["ptb"], {}, "unknown data 'ptb'; choose one of: mnist"),
        ("table", ["mnist_tied"], {}, "unknown experiment 'mnist_tied'"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    assert message in refusal_of("undirected", tmp_path / "out", recipe, *arguments, **settings)


def test_networks_are_trained_once_and_compared(tmp_path):
    out, data = tmp_path / "undirected", tmp_path / "digits"
    digits = ["--images", "60", "20", "--size", "12"]
    assert main(["prepare", "image_classification", "generate", str(data), *digits]) == 0
    status, said = run(out, "adaptive_passes", "mnist", data, **SMALL)
    assert status == 0, said
    rows = re.findall(r"adaptive_passes mnist, (\w+): accuracy \S+", said)
    assert rows == ["k1", "k3", "k5", "random_k", "converge"]
    assert re.search(r"k1: .* passes_mean 1\.00? .*time_ratio 1\.00?\b", said), said
    trained = {f"{k}.zero.epochs_1.channels_5" for k in ("k1", "k3", "k5", "random_k")}
    assert {path.parent.name for path in out.glob("mnist/both/*/seed_1")} == trained
    status, said = run(out, "mnist", "converge", data, **SMALL)
    assert status == 0 and "mnist converge: accuracy " in said and "passes_mean" in said, said
    assert {path.parent.name for path in out.glob("mnist/both/*/seed_1")} == trained
    status, said = run(out, "mnist_prototypes", "plain", data, **SMALL)
    assert status == 0 and "mnist_prototypes plain: recognised " in said, said
    plain = out / "mnist" / "forward_only" / "k1.zero.epochs_1.channels_5"
    assert {path.name for path in plain.iterdir()} == {"seed_1", "seed_2"}  # it and its judge
    status, said = run(out, "mnist_initialisation", "1", data, **SMALL)
    assert status == 0 and "accuracy_zero" in said and "accuracy_uniform" in said, said


def test_the_tables_have_the_numbers_of_the_thesis():
    assert paper_values(RECIPES, "mnist", "k3") == {"accuracy": 98.83}
    assert paper_values(RECIPES, "mnist_forward_only", "k1") == {"accuracy": 98.8}
    assert paper_values(RECIPES, "mnist_untied", "k5") == {"accuracy": 97.39, "parameters": 51750}
    assert paper_values(RECIPES, "mnist_initialisation", "k3") == {
        "accuracy": 98.9, "accuracy_zero": 98.83, "accuracy_uniform": 98.83,
    }  # fmt: skip
