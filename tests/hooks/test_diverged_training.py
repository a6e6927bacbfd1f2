"""A training whose gradients or scores are not finite ends in one line that says what to do."""

import dataclasses
import re

import pytest
import torch
from fairseq import trainer
from fairseq_commands import USER_DIR, run
from mapped_splits import drawn_lines, write_folder

from fairseq_struct import plugin
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.hooks.diverged_training import tensors_of


def test_a_diverged_training_of_a_model_that_returns_a_dataclass(tmp_path):
    assert main(["prepare", "transformation_lists", "generated", str(tmp_path / "data"),
                 "--sentences=40", "--least-count=1"]) == 0  # fmt: skip
    with pytest.raises(InputError) as error:
        run("train", tmp_path / "data" / "data-bin", f"--user-dir={USER_DIR}", "--num-workers=0",
            "--task=grammar_induction", "--criterion=grammar_induction", "--arch=rim_composer",
            "--embed-dim=8", "--optimizer=sgd", "--lr=1e30", "--batch-size=16", "--max-update=9",
            "--no-progress-bar", f"--save-dir={tmp_path}/run")  # fmt: skip
    assert isinstance(error.value, FloatingPointError)
    assert str(error.value).startswith("gradients are NaN or infinite after ")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["crash.pt"]


def test_a_training_whose_trees_have_no_scores_any_more(tmp_path):
    lines = drawn_lines(12, ended=False)
    folder = write_folder(tmp_path / "data", [(line, line) for line in lines], [4, 5] * 6)
    with pytest.raises(InputError) as error:
        run("train", folder, f"--user-dir={USER_DIR}", "--num-workers=0", "--no-progress-bar",
            "--task=structured_classification", "--criterion=structured_classification",
            "--arch=latent_tree_entailment", "--latent-method=marginals", "--optimizer=sgd",
            "--lr=1e30", "--batch-size=6", "--max-update=9",
            f"--save-dir={tmp_path}/run")  # fmt: skip
    assert isinstance(error.value, FloatingPointError)
    assert re.match(r"after [12] updates the score of .* is nan: .* lower --lr", str(error.value))


def test_all_tensors_of_a_result_are_looked_at():
    @dataclasses.dataclass
    class Result:
        first: torch.Tensor
        others: tuple
        name: str = "no tensor"

    found = tensors_of([Result(torch.ones(1), ({"a": torch.ones(2)}, None)), torch.ones(3)])
    assert [len(one) for one in found] == [1, 2, 3]


def test_the_log_says_where_it_happened(caplog):
    plugin.load()

    @dataclasses.dataclass
    class Result:
        sums: torch.Tensor

    class Summing(torch.nn.Module):
        def forward(self, inputs):
            return Result(inputs.sum(1))

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), Summing())
    with trainer.NanDetector(model):
        (model(torch.ones(4, 3)).sums * float("inf")).sum().backward()
    assert "Inf detected in output of 1, shape: torch.Size([4]), backward" in caplog.text
