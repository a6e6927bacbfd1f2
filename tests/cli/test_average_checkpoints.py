"""Averages of checkpoints: exact means; values that are no numbers stay; mismatches are named."""

import argparse
import os
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from fairseq_struct import compat
from fairseq_struct.cli.main import main
from fairseq_struct.cli.training.average_checkpoints import average_checkpoints, checkpoints_of
from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_words import KEY


def save(path: Path, number: float = 0.0, maximize: bool = False, **parameters) -> Path:
    """Write a checkpoint shaped like fairseq's, with ``number`` as every parameter."""
    tied = torch.full((3, 2), number)
    model = {
        "embed.weight": tied,
        "out.weight": tied,
        "half.weight": torch.full((2,), number, dtype=torch.float16),
        "double.weight": torch.full((2,), number, dtype=torch.float64),
        "version": torch.tensor([int(number)]),
    }
    state = {
        "args": None,
        "cfg": {
            "checkpoint": {"maximize_best_checkpoint_metric": maximize},
            "model": argparse.Namespace(arch="tiny"),
        },
        "model": OrderedDict(model | parameters),
        "optimizer_history": [{"num_updates": int(number), "lr_scheduler_state": {}}],
        "extra_state": {"val_loss": number, "ema": {"embed.weight": tied}},
        "last_optimizer_state": {"state": {0: tied}},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path


def test_mean_types_and_what_comes_from_the_last(tmp_path):
    paths = [save(tmp_path / f"{number}.pt", number) for number in (1.0, 2.0, 6.0)]
    model = average_checkpoints(paths)["model"]

    for name in ("embed.weight", "out.weight", "half.weight", "double.weight"):
        assert torch.equal(model[name], torch.full_like(model[name], 3.0)), name
    assert model["half.weight"].dtype == torch.float16
    assert model["double.weight"].dtype == torch.float64
    assert model["version"].tolist() == [6]


def test_random_parameters_match_a_direct_mean(tmp_path):
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(4, 5, generator=generator) for _ in range(4)]
    paths = [save(tmp_path / f"{i}.pt", extra=value) for i, value in enumerate(values)]
    mean = average_checkpoints(paths)["model"]["extra"]
    torch.testing.assert_close(mean, torch.stack(values).mean(0))


def test_half_precision_is_summed_in_float32(tmp_path):
    # 60000 + 60000 overflows float16, and 2048 + 1 rounds to 2048 there.
    large = [torch.tensor([60000.0, value], dtype=torch.float16) for value in (2048.0, 1.0, 1.0)]
    paths = [save(tmp_path / f"{i}.pt", extra=value) for i, value in enumerate(large)]
    mean = average_checkpoints(paths)["model"]["extra"]
    assert mean.tolist() == torch.tensor([60000.0, 2050 / 3], dtype=torch.float16).tolist()


def test_inputs_stay_as_they_were(tmp_path):
    paths = [save(tmp_path / "a.pt", 1.0), save(tmp_path / "b.pt", 2.0)]
    before = [path.read_bytes() for path in paths]
    average_checkpoints(paths)
    assert [path.read_bytes() for path in paths] == before


def test_training_state_is_dropped_and_the_rest_kept(tmp_path):
    state = average_checkpoints([save(tmp_path / "a.pt", 1.0), save(tmp_path / "b.pt", 2.0)])
    assert "last_optimizer_state" not in state
    assert state["extra_state"] == {"val_loss": 2.0}
    assert state["optimizer_history"][-1]["num_updates"] == 2
    assert state["cfg"]["model"].arch == "tiny"


def test_tied_parameters_stay_one_tensor(tmp_path):
    paths = [save(tmp_path / "a.pt", 1.0), save(tmp_path / "b.pt", 2.0)]
    model = average_checkpoints(paths)["model"]
    assert model["embed.weight"] is model["out.weight"]


def test_fairseq_loads_the_result(tmp_path, capsys):
    paths = [save(tmp_path / "a.pt", 1.0), save(tmp_path / "b.pt", 2.0)]
    output = tmp_path / "new" / "mean.pt"
    assert main(["average-checkpoints", "--inputs", *map(str, paths), "--output", str(output)]) == 0
    assert capsys.readouterr().out.startswith(f"{output}: mean of 2 checkpoints")

    compat.prepare()
    from fairseq import checkpoint_utils

    state = checkpoint_utils.load_checkpoint_to_cpu(str(output))
    assert state["model"]["embed.weight"].unique().tolist() == [1.5]
    assert os.listdir(output.parent) == ["mean.pt"]  # nothing temporary is left


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"extra": torch.zeros(1)}, r"b\.pt: has a parameter 'extra', unlike .*a\.pt"),
        ({"out.weight": torch.zeros(3, 3)}, r"b\.pt: parameter 'out.weight' .*\(3, 3\).*\(3, 2\)"),
    ],
)
def test_first_difference_is_named(tmp_path, parameters, message):
    paths = [save(tmp_path / "a.pt"), save(tmp_path / "b.pt", 0.0, **parameters)]
    with pytest.raises(InputError, match=message):
        average_checkpoints(paths)


def test_missing_parameter_is_named(tmp_path):
    paths = [save(tmp_path / "a.pt", extra=torch.zeros(1)), save(tmp_path / "b.pt")]
    with pytest.raises(InputError, match=r"b\.pt: has no parameter 'extra', unlike .*a\.pt"):
        average_checkpoints(paths)


def test_other_dictionaries_are_told(tmp_path):
    paths = [save(tmp_path / f"{name}.pt") for name in "abc"]
    for path, digest in zip(paths[:2], "xy", strict=True):
        state = torch.load(path, weights_only=False)
        torch.save({**state, "task_state": {KEY: {"source": digest}}}, path)
    average_checkpoints(paths[::2])  # the last is of an older version, which kept no digests
    with pytest.raises(InputError, match=r"b\.pt: trained with other dictionaries than .*a\.pt"):
        average_checkpoints(paths[:2])


def test_models_that_say_other_things_about_themselves_are_told(tmp_path):
    texts = [torch.tensor(list(text), dtype=torch.uint8) for text in (b"AB, BA", b"BA, AB")]
    paths = [save(tmp_path / f"{n}.pt", about=text) for n, text in enumerate(texts)]
    with pytest.raises(InputError, match=r"1\.pt: has another 'about' than .*0\.pt"):
        average_checkpoints(paths)
    average_checkpoints([paths[0], save(tmp_path / "2.pt", about=texts[0])])


def test_no_model_and_no_paths(tmp_path):
    torch.save({"weights": 1}, tmp_path / "x.pt")
    with pytest.raises(InputError, match=r"x\.pt: not a checkpoint of fairseq"):
        average_checkpoints([tmp_path / "x.pt"])
    with pytest.raises(InputError, match="no checkpoints"):
        average_checkpoints([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--best=2", "--directory=.", "--by=updates"], "--by works only with --last"),
        (["--inputs=x", "--upper-bound=3"], "--upper-bound works only with --last"),
        (["--inputs=x", "--directory=."], "--directory works only with"),
        (["--last=2"], "--last and --best need --directory"),
    ],
)
def test_options_that_do_not_go_together_are_told(capsys, options, message):
    assert main(["average-checkpoints", *options, "--output=out.pt"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_last_counts_epochs_or_updates_as_numbers(tmp_path):
    for name in ("1", "2", "9", "10", "_1_50", "_2_100", "_2_150", "_last", "_best"):
        (tmp_path / f"checkpoint{name}.pt").touch()
    assert names(checkpoints_of(tmp_path, 2)) == ["checkpoint9.pt", "checkpoint10.pt"]
    assert names(checkpoints_of(tmp_path, 2, upper_bound=9)) == ["checkpoint2.pt", "checkpoint9.pt"]
    by_updates = checkpoints_of(tmp_path, 2, "updates", upper_bound=149)
    assert names(by_updates) == ["checkpoint_1_50.pt", "checkpoint_2_100.pt"]


@pytest.mark.parametrize("maximize", [True, False])
def test_best_follows_the_direction_of_the_training(tmp_path, maximize):
    files = [f"checkpoint.best_bleu_{value}.pt" for value in ("9.5000", "10.2501", "31.0002")]
    for name in files:
        save(tmp_path / name, maximize=maximize)
    expected = files[1:] if maximize else files[1::-1]
    assert names(checkpoints_of(tmp_path, 2, "best")) == expected


def test_too_few_name_the_option_that_keeps_them(tmp_path, capsys):
    (tmp_path / "checkpoint1.pt").touch()
    arguments = ["average-checkpoints", "--directory", str(tmp_path), "--output", "x.pt"]
    assert main([*arguments, "--last", "5"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path}: has 1 checkpoints by epochs, but 5 are needed")
    assert "--keep-last-epochs, after a preset with --epoch-checkpoints, too" in error
    assert main([*arguments, "--best", "1"]) == 2
    assert "--keep-best-checkpoints" in capsys.readouterr().err


def test_output_may_not_be_an_input(tmp_path, capsys):
    path = save(tmp_path / "a.pt", 1.0)
    assert main(["average-checkpoints", "--inputs", str(path), "--output", str(path)]) == 2
    assert "is one of the inputs" in capsys.readouterr().err


def test_failed_write_leaves_nothing(tmp_path, monkeypatch, capsys):
    path, output = save(tmp_path / "a.pt", 1.0), tmp_path / "out" / "mean.pt"

    def full_disk(state, file):
        file.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full_disk)
    assert main(["average-checkpoints", "--inputs", str(path), "--output", str(output)]) == 2
    assert "mean.pt: cannot be written (No space left" in capsys.readouterr().err
    assert os.listdir(output.parent) == []
