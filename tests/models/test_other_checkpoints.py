"""Checkpoints whose parts another model takes over: damaged ones end in one line."""

import re
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary
from stored_models import STORED

from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.models.option_controller.option_controller import (
    OptionControllerConfig,
    OptionControllerModel,
)
from fairseq_struct.models.option_controller.option_policy import (
    OptionPolicyConfig,
    OptionPolicyModel,
)
from fairseq_struct.models.shared.trained_composer import read_composer

ABOUT = {"tasks": ["AC"], "kinds": "ACD", "observation": "windows", "observation_size": 9,
         "actions": 5}  # fmt: skip
CRAFT = SimpleNamespace(kinds="AC", observation="windows", observation_size=9, action_count=5)


def start_from(path):
    config = OptionControllerConfig(initial_model=path)
    task = SimpleNamespace(about=ABOUT, own_criterion="craft_imitation")
    return OptionControllerModel.build_model(config, task)


def reuse_options_of(path):
    task = SimpleNamespace(craft=CRAFT, own_criterion="craft_reinforcement")
    return OptionPolicyModel.build_model(OptionPolicyConfig(options_from=path), task)


def compose_with(path):
    data = str(STORED / "lists" / "data-bin")
    return read_composer(path, "--composer-from", Dictionary(), data)


READERS = {
    "--initial-model": ("option_controller", start_from),
    "--options-from": ("option_controller", reuse_options_of),
    "--composer-from": ("rim_composer", compose_with),
}
FIRST = {"option_controller": "network.options.0.observed.weight",
         "rim_composer": "network.words.weight"}  # fmt: skip
plugin.load()
OF_ALL = pytest.mark.parametrize("option", READERS)


def refusal(option, path):
    """What is said of a checkpoint that is refused; it is one line."""
    with pytest.raises(InputError) as refused:
        READERS[option][1](str(path))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def stored(option):
    return torch.load(STORED / f"{READERS[option][0]}.pt", weights_only=True)


@OF_ALL
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "it has no 'model'"),
        ([1], "it has no 'model'"),
        ({1: torch.ones(1)}, "a parameter named 1, which is not text"),
        ("x", "FIRST of its 'model' is not a tensor: str"),
        (3, "FIRST of its 'model' is not a tensor: int"),
        (torch.eye(3).to_sparse(), "the parameter FIRST is not dense (torch.sparse_coo)"),
        (torch.empty(2, device="meta"), "the parameter FIRST has no numbers"),
        (torch.zeros(1).expand(10**6, 10**6), "its parameters claim 4,000,000,"),
        (torch.full((2, 2), torch.nan), "FIRST is not finite; its training has diverged"),
        (torch.full((2, 2), torch.inf), "FIRST is not finite; its training has diverged"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_models_of_anything_but_finite_numbers(option, model, message, tmp_path):
    """In place of the whole model, or of its first parameter."""
    state, first = stored(option), FIRST[READERS[option][0]]
    whole = model is None or isinstance(model, list)
    if isinstance(model, dict):
        state["model"].update(model)
    else:
        state["model"] = model if whole else {**state["model"], first: model}
    path = tmp_path / "x.pt"
    torch.save(state, path)
    said = refusal(option, path)
    assert said.startswith(f"{option} {path}: ") and message.replace("FIRST", first) in said


@OF_ALL
@pytest.mark.parametrize("part", ["model", "extra_state", "optimizer_history"])
def test_what_no_training_wrote(option, part, tmp_path):
    state, path = stored(option), tmp_path / "x.pt"
    for value in (None, 3):
        state.pop(part) if value is None else state.update({part: value})
        torch.save(state, path)
        told = rf"{option} {re.escape(str(path))}: not (a checkpoint of fairseq|written by)"
        assert re.match(told, refusal(option, path))


@OF_ALL
def test_files_that_are_none(option, tmp_path):
    path = tmp_path / "x.pt"
    assert refusal(option, path) == f"{path}: no such file ({option})"
    path.write_text("abc")
    assert refusal(option, path) == f"{option} {path}: not a checkpoint, or a truncated one"
    assert refusal(option, tmp_path) == f"{tmp_path}: is a folder, not a file ({option})"


def test_a_composer_that_does_not_fit_its_own_options(tmp_path):
    option, path = "--composer-from", tmp_path / "x.pt"
    for change, message in (
        (lambda state: state["model"].pop("network.words.weight"), "does not fit its options and"),
        (lambda state: state["cfg"].update(model={"_name": "udgn"}), "this task is for composers"),
        (lambda state: state["cfg"].pop("model"), "it is not a checkpoint of a composer"),
        (lambda state: state["cfg"]["model"].update(units="many"), "no model can be built from"),
        (lambda state: state["cfg"]["model"].update(layers=10**7), "its options ask for more lay"),
        (lambda state: state["cfg"]["model"].update(embed_dim=10**7), "does not fit its options"),
    ):
        state = stored(option)
        change(state)
        torch.save(state, path)
        assert refusal(option, path).startswith(f"{option} {path}: {message}")
