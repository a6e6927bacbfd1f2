"""Grammar induction from the command line: prepare, train, resume, and what is refused."""

import json
import re

import pytest
import torch
from fairseq_commands import USER_DIR, run
from resumed_trainings import whole_and_resumed

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError

SMALL = [
    f"--user-dir={USER_DIR}", "--task=grammar_induction", "--criterion=grammar_induction",
    "--embed-dim=16", "--units=3", "--top-k=2", "--key-size=8", "--optimizer=adam", "--lr=0.01",
    "--clip-norm=1", "--batch-size=16", "--num-workers=0", "--no-epoch-checkpoints",
    "--no-progress-bar", "--log-format=json",
]  # fmt: skip
RIM = ["--arch=rim_composer", *SMALL]
OF_UNITS = ("--units", "--top", "--key")
LSTM = ["--arch=lstm_composer", *(one for one in SMALL if not one.startswith(OF_UNITS))]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "data"
    assert main(["prepare", "transformation_lists", "generated", str(folder),
                 "--sentences=200", "--least-count=1"]) == 0  # fmt: skip
    return folder / "data-bin"


def last_of(log: str) -> dict[str, float]:
    """The last values of a validation."""
    return {name: float(value) for line in re.findall(r"^\{.*valid_loss.*\}$", log, re.M)
            for name, value in json.loads(line).items()}  # fmt: skip


def test_steps_and_categories_are_learnt(data, tmp_path):
    log = run("train", data, *RIM, "--positions=from_right", "--predict-category", "--max-epoch=24",
              f"--save-dir={tmp_path}", "--validate-interval=24", "--save-interval=24",
              "--best-checkpoint-metric=window_2", "--maximize-best-checkpoint-metric")  # fmt: skip
    found = last_of(log)
    assert found["valid_window_0"] > 45 and found["valid_window_0_multi"] > 70
    assert found["valid_window_2"] > 80 and found["valid_category_accuracy"] > 40
    parts = found["valid_span_loss"] + found["valid_category_loss"]
    assert found["valid_loss"] == pytest.approx(parts, abs=2e-4)
    for arguments in (["--max-tokens=40"], ["--batch-size=1"]):  # numbers do not depend on batches
        again = run("validate", data, f"--user-dir={USER_DIR}", "--task=grammar_induction",
                    f"--path={tmp_path}/checkpoint_best.pt", "--num-workers=0", *arguments,
                    "--no-progress-bar", "--log-format=json")  # fmt: skip
        for name, value in last_of(again).items():
            if name.startswith("valid_window"):
                assert found[name] == value


@pytest.mark.parametrize(
    "options",
    [[*RIM, "--layers=2", "--dropout=0.1", "--predict-category", "--own-spans=linear",
      "--own-spans-end-update=12"], [*LSTM, "--dropout=0.1"]],
)  # fmt: skip
def test_a_resumed_run_repeats_the_uninterrupted_one(data, tmp_path, options):
    """It stops in the middle of an epoch."""
    options = [data, *options, "--save-interval-updates=8"]
    whole, parts = whole_and_resumed(tmp_path, *options, cut=8, updates=12)
    assert last_of(whole)["valid_loss"] == last_of(parts)["valid_loss"]


@pytest.mark.parametrize(
    "options",
    [["--span-attention=softmax", "--input-weights=softmax"], ["--pad-value=-1"],
     ["--own-spans=constant", "--own-spans-k=0"]],
)  # fmt: skip
def test_other_ways_train(data, tmp_path, options):
    log = run("train", data, *RIM, *options, "--max-update=3", f"--save-dir={tmp_path}")
    assert 0 < last_of(log)["valid_loss"] < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*RIM, "--top-k=4"], "--top-k must be 1 to 3, the number of --units, not 4"),
        ([*RIM, "--top-k=0"], "--top-k must be 1 to 3, the number of --units, not 0"),
        ([*RIM, "--hidden-size=20"], "--hidden-size 20 must be that of --embed-dim, 16"),
        ([*RIM, "--layers=0"], "--layers must be 1 or more"),
        ([*RIM, "--pad-value=nan"], "--pad-value must be a number, not nan"),
        ([*RIM, "--own-spans-k=1"], "--own-spans-k needs --own-spans"),
        ([*RIM, "--category-weight=-1"], "--category-weight must be 0 or more"),
        ([*RIM, "--embed-path=VECTORS"], "vectors.txt:2: 3 numbers, but embeddings have 16"),
        ([*RIM, "--units=0"], "--units must be 1 or more"),
        ([*RIM, "--own-spans=linear"], "--own-spans linear needs --own-spans-end-update"),
        ([*RIM, "--dropout=1"], "--dropout must be 0 or more and below 1, not 1.0"),
        ([*LSTM, "--embed-dim=15"], "--embed-dim: the size of embeddings must be even"),
        ([*LSTM, "--arch=udgn"], "this task is for composers such as rim_composer, not for UDGN"),
        ([*RIM, "--criterion=cross_entropy"], "needs --criterion grammar_induction"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_impossible_options(data, tmp_path, options, message):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the " + " ".join(["0"] * 16) + "\na 1 2 3\n")
    options = [option.replace("VECTORS", str(vectors)) for option in options]
    with pytest.raises(InputError, match=re.escape(message)):
        run("train", data, *options, "--max-update=1", f"--save-dir={tmp_path}")
    assert not list(tmp_path.glob("*.pt"))


def test_half_precision_is_close_to_full(data):
    from fairseq_struct.data.datasets.transformation_lists import TransformationLists
    from fairseq_struct.data.prepared.listed_part import read_part
    from fairseq_struct.modules.recurrent_mechanisms import RimComposer, follow

    lists = TransformationLists(read_part(data, "valid"), 1)
    batch = lists.collater(range(8))["net_input"]
    torch.manual_seed(1)
    network = RimComposer(torch.nn.Embedding(200, 16, 1), 3, 3, positions="from_right")
    losses = {}
    for kind in (torch.float32, torch.bfloat16):
        found = follow(network.to(kind), **batch)
        assert found.losses.dtype == torch.float32
        losses[kind] = found.losses.sum()
        losses[kind].backward()
        assert all(p.grad.isfinite().all() for p in network.parameters() if p.grad is not None)
        network.zero_grad()
    assert losses[torch.bfloat16].item() == pytest.approx(losses[torch.float32].item(), rel=0.02)
