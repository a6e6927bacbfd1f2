"""Averages of checkpoints: exact means; values that are no numbers stay; mismatches are named."""

from pathlib import Path

import pytest
import torch
from small_checkpoints import save

from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_words import KEY
from fairseq_struct.inference import average_checkpoints, checkpoints_of


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


def test_differences_are_found_without_floating_point_parameters(tmp_path):
    paths = [save(tmp_path / f"{name}.pt") for name in "ab"]
    for path, values in zip(paths, (torch.arange(3), torch.arange(4)), strict=True):
        state = torch.load(path, weights_only=False)
        torch.save(state | {"model": {"numbers": values}}, path)
    with pytest.raises(InputError, match=r"b\.pt: parameter 'numbers' .*\(4,\).*\(3,\)"):
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


@pytest.mark.parametrize(
    ("group", "name", "values", "told"),
    [
        ("common", "seed", (1, 2), "--seed"),
        ("checkpoint", "save_dir", ("/a", "/b"), "--save-dir"),
        ("checkpoint", "save_dir", ("/a", "a"), None),  # of an older version, which kept it so
        ("common", "seed", (1, 1), None),
    ],
)
def test_several_trainings_are_told(tmp_path, caplog, group, name, values, told):
    paths = [tmp_path / letter / "x.pt" for letter in "abc"]
    for path, value in zip(paths, (values[0], *values[1:] * 2), strict=True):
        path.parent.mkdir()
        state = torch.load(save(path), weights_only=False)
        state["cfg"].setdefault(group, {})[name] = value
        torch.save(state, path)
    average_checkpoints(paths)
    expected = f"{paths[1]}: is of another training than {paths[0]}, by its {told}"
    assert caplog.messages == ([expected] if told else [])
    if told == "--save-dir":  # a training whose folder was moved while it was interrupted
        caplog.clear()
        for number, path in enumerate(paths):
            path.rename(tmp_path / f"{number}.pt")
        average_checkpoints([tmp_path / f"{number}.pt" for number in range(3)])
        assert not caplog.messages


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
