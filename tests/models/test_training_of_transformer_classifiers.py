"""Transformer classifiers by the real commands."""

import pytest
import torch
from fairseq_commands import USER_DIR, run

import fairseq_struct
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import SPLITS, read_corpus, read_tsv
from fairseq_struct.errors import InputError

OPTIONS = ["--task=structured_classification", "--criterion=structured_classification",
           "--arch=transformer_classifier_proplogic", "--hidden-size=8", "--layers=2",
           "--heads=2", "--feedforward-size=16", "--optimizer=adam", "--lr=0.01",
           "--batch-size=4", "--no-progress-bar", "--num-workers=0", "--disable-validation",
           "--no-epoch-checkpoints", f"--user-dir={USER_DIR}"]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Pairs of formulas; the label says whether they are the same."""
    folder = tmp_path_factory.mktemp("pairs")
    files = {split: folder / f"{split}.tsv" for split in SPLITS}
    rows = [(a, b) for a in ("a", "( not b )", "( a ( or c ) )") for b in ("a", "( not b )")]
    for path in files.values():
        path.write_text("".join(f"{a}\t{b}\t{'=' if a == b else '#'}\n" for a, b in rows))
    write_labelled_folder(read_corpus("pairs", read_tsv, files), folder / "data")
    return folder / "data" / "data-bin"


def train(data, save_dir, *options):
    return run("train", data, *OPTIONS, *options, f"--save-dir={save_dir}")


def test_a_resumed_run_repeats_the_uninterrupted_one(data, tmp_path):
    train(data, tmp_path / "parts", "--max-update=1")
    train(data, tmp_path / "parts", "--max-update=2")
    train(data, tmp_path / "whole", "--max-update=2")
    parts, whole = (
        torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)["model"]
        for name in ("parts", "whole")
    )
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    model = fairseq_struct.load(tmp_path / "whole" / "checkpoint_last.pt")
    pairs = [("a", "( not b )"), ("( a ( or c ) )", "a"), ("a", "a")]
    together = [one.probabilities for one in model.analyse(pairs)]
    alone = [next(model.analyse([pair])).probabilities for pair in pairs]
    assert together == [pytest.approx(one, abs=1e-5) for one in alone]
    with pytest.raises(InputError, match="infers no trees; it can classify"):
        model.parse(["a"])
