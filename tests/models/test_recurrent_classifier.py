"""Classifiers by ON-LSTM and LSTM, and logical inference by the real commands."""

import re
import sys

import pytest
import torch
from fairseq_commands import ROOT, USER_DIR, run, start
from torch import nn

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.modules.recurrent.classifier import RecurrentClassifier
from fairseq_struct.modules.recurrent.layers import CELLS
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers

LENGTHS = torch.tensor([[5, 2], [1, 5], [3, 3]])


def network(cell, sides=2):
    torch.manual_seed(1)
    embedding = nn.Embedding(20, 6, 1)
    return RecurrentClassifier(embedding, (8, 4), 3, cell, 2, 0.0, sides).double()


def batch(sides=2):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, 20, (3, sides, 5), generator=generator)
    lengths = LENGTHS[:, :sides]
    return tokens.masked_fill(torch.arange(5) >= lengths[..., None], 1), lengths


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_an_instance_depends_neither_on_its_batch_nor_on_padding(cell, sides):
    classifier = network(cell, sides)
    tokens, lengths = batch(sides)
    targets = torch.tensor([0, 2, 1])
    together = classifier(tokens, lengths, targets)
    for b in range(3):
        n = int(lengths[b].max())
        alone = classifier(tokens[b : b + 1, :, :n], lengths[b : b + 1], targets[b : b + 1])
        torch.testing.assert_close(together.logits[b], alone.logits[0])
        torch.testing.assert_close(together.losses[b], alone.losses[0])


@pytest.mark.parametrize("cell", CELLS)
def test_pairs_are_compared_as_in_the_paper(cell):
    classifier = network(cell)
    tokens, lengths = batch()
    last = []
    for side in range(2):
        one = []
        for b in range(3):
            words = classifier.embedding(tokens[b, side, : lengths[b, side]])[:, None]
            one.append(classifier.layers.run(words).output[-1, 0])
        last.append(torch.stack(one))
    first, second = last
    features = torch.cat([first, second, first * second, (first - second).abs()], 1)
    torch.testing.assert_close(classifier(tokens, lengths).logits, classifier.output(features))


def test_lstm_layers_are_torchs():
    torch.manual_seed(0)
    layers, x = LSTMLayers(5, [7, 6]), torch.randn(4, 3, 5)
    start = tuple(torch.randn(3, 7) for _ in range(2)), tuple(torch.randn(3, 6) for _ in range(2))
    state = (start[0][0], start[1][0]), (start[0][1], start[1][1])
    made = layers.run(x, state)
    given = x
    for number, layer in enumerate(layers.layers):
        hidden, cell = state[0][number][None], state[1][number][None]
        given, (hidden, cell) = layer(given, (hidden, cell))
        torch.testing.assert_close(made.state[0][number], hidden[0])
        torch.testing.assert_close(made.state[1][number], cell[0])
    torch.testing.assert_close(made.output, given)
    lengths = torch.tensor([4, 0, 2])
    padded = layers.run(x, state, lengths)
    torch.testing.assert_close(padded.output[:, 0], made.output[:, 0])
    torch.testing.assert_close(padded.output[:2, 2], made.output[:2, 2])
    assert not padded.output[2:, 2].any() and not padded.output[:, 1].any()
    for ours, given in zip(padded.state, state, strict=True):
        assert torch.equal(ours[1][1], given[1][1])
    two = layers.run(x[:2, 2:], tuple(tuple(part[2:] for part in parts) for parts in state))
    torch.testing.assert_close(padded.state[1][1][2], two.state[1][1][0])


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    """A miniature corpus; the label says whether two formulas are the same."""
    folder = tmp_path_factory.mktemp("logic")
    for kind, shift in (("train", 0), ("test", 3)):
        for number in range(3):
            lines = []
            for i in range(24 if kind == "train" else 6):
                one, other = "abc"[(i + shift) % 3], "abc"[(i // 3 + shift) % 3]
                relation = "=" if one == other else "#"
                wrap = "( not {} )" if number else "{}"
                if number == 2:
                    wrap = "( not ( not {} ) )"
                lines.append(f"{relation}\t{wrap.format(one)}\t{wrap.format(other)}\n")
            (folder / f"{kind}{number}").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("cell", CELLS)
def test_logical_inference_end_to_end(formulas, tmp_path, cell):
    script = ROOT / "preprocess" / "propositional_logic.py"
    done = start(sys.executable, script, formulas, tmp_path / "data", "--most-operators", "2")
    assert "train: 65 pairs\nvalid: 7 pairs\ntest: 18 pairs" in done.communicate()[0]
    options = ["--task=structured_classification", "--arch=recurrent_classifier_proplogic",
               "--criterion=structured_classification", f"--cell={cell}", "--hidden-size=20",
               "--embed-dim=12", "--chunk-size=4", "--dropout=0", "--optimizer=adam", "--lr=0.02",
               "--batch-size=16", "--no-progress-bar", "--disable-validation",
               "--save-interval=1000", "--num-workers=0", f"--user-dir={USER_DIR}"]  # fmt: skip
    data = tmp_path / "data" / "data-bin"
    run("train", data, *options, f"--save-dir={tmp_path}/parts", "--max-update=20")
    run("train", data, *options, f"--save-dir={tmp_path}/parts", "--max-update=100")
    run("train", data, *options, f"--save-dir={tmp_path}/whole", "--max-update=100")
    parts, whole = (
        torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)["model"]
        for name in ("parts", "whole")
    )
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    model = fairseq_struct.load(tmp_path / "whole" / "checkpoint_last.pt")
    pairs = [("( not a )", "( not a )"), ("( not b )", "( not a )"), ("c", "c")]
    assert [one.label for one in model.analyse(pairs)] == ["=", "#", "="]
    with pytest.raises(InputError, match="this classifier infers no trees"):
        list(model.trees(["a"]))


def test_the_recipe_prints_accuracies_by_operators(formulas, tmp_path):
    recipe = ROOT / "recipes" / "on_lstm" / "logical_inference.sh"
    (formulas / "train3").write_text((formulas / "train2").read_text())
    for number in (4, 5, 6):
        (formulas / f"train{number}").write_text("")
    settings = {"OUT": str(tmp_path), "EPOCHS": "1", "HIDDEN": "20"}
    before = (recipe.parent / "results.jsonl").read_text() if (
        recipe.parent / "results.jsonl").is_file() else None  # fmt: skip
    done = start(recipe, "on_lstm", formulas, **settings)
    output = done.communicate()[0]
    assert done.returncode == 0, output
    row = r"logical_inference on_lstm: up_to_6 [\d.]+  operators_0 [\d.]+  operators_1 [\d.]+"
    assert re.search(row, output)
    if before is not None:
        assert (recipe.parent / "results.jsonl").read_text() == before
    done = start(recipe, "gru", formulas, **settings)
    assert "usage: logical_inference.sh on_lstm|lstm" in done.communicate()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "gru"}, "unknown cell 'gru'"),
        ({"sides": 3}, "reads one sentence or two, not 3"),
        ({"hidden_sizes": (7,), "chunk_size": 2}, "chunk size 2 must divide the size 7"),
    ],
)
def test_impossible_classifiers_are_refused(options, message):
    defaults = {"hidden_sizes": (4,), "labels": 2, "chunk_size": 2}
    with pytest.raises(ValueError, match=message):
        RecurrentClassifier(nn.Embedding(5, 3), **(defaults | options))
