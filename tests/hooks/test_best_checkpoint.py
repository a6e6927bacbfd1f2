"""The checkpoint that is kept as the best is the best, by a value that validation has."""

import argparse

import pytest
from fairseq_commands import USER_DIR, in_this_process, run, write_data_bin
from killed_trainings import state_of
from small_masked_models import logged, train

from fairseq_struct import presets
from fairseq_struct.errors import InputError
from fairseq_struct.hooks.best_checkpoint import (
    check_direction,
    check_metric,
    is_higher_better,
    watch,
)

SWITCH = "--maximize-best-checkpoint-metric"
TRANSLATION = ["--arch=transformer_tiny", "--max-tokens=200", "--max-update=1", "--no-save"]


@pytest.mark.parametrize("name", presets.names())
def test_presets_keep_the_best(name):
    options = presets.preset(name).options
    highest = SWITCH.removeprefix("--") in options
    assert is_higher_better(options.get("best-checkpoint-metric", "loss")) is highest


@pytest.mark.parametrize(
    ("metric", "higher"),
    [
        ("nll_loss", False), ("ppl", False), ("energy", False), ("uas_argmax_root", True),
        ("f1_tolerance_1_threshold", True), ("f1_inner", True), ("window_7_VP", True),
        ("category_accuracy", True), ("wps", None), ("UAS", None),
    ],
)  # fmt: skip
def test_what_is_better(metric, higher):
    assert is_higher_better(metric) is higher
    for highest in (True, False):
        checkpoint = argparse.Namespace(
            best_checkpoint_metric=metric, maximize_best_checkpoint_metric=highest
        )
        if higher in (None, highest):
            check_direction(checkpoint)
        else:
            with pytest.raises(InputError, match=SWITCH if higher else "the lower it is"):
                check_direction(checkpoint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["uuas"], f"uuas is better the higher it is: give {SWITCH}, too"),
        (["ppl", SWITCH], "ppl is better the lower it is, but .* by --no-maximize-best-"),
        (["Uuas", SWITCH], "Uuas: validation has no such value; did you mean 'uuas'"),
        (["uuas", SWITCH], "uuas needs a --treebank"),
    ],
)
def test_a_wrong_metric_is_refused_before_training(language_folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(language_folder, tmp_path / "run", "--best-checkpoint-metric", *options)
    assert not list(tmp_path.iterdir())


def test_names_of_other_criterions_are_theirs():
    """Another criterion may log an energy that is to be high, or UAS in capitals."""
    for metric in ("energy", "UAS"):
        checkpoint = argparse.Namespace(
            best_checkpoint_metric=metric, maximize_best_checkpoint_metric=True
        )
        task = argparse.Namespace()
        watch(task, argparse.Namespace(), checkpoint)
        task.post_validate(None, {metric: 1.0}, None)
    checkpoint.best_checkpoint_metric = "nll_loss"  # means the same everywhere
    with pytest.raises(InputError, match="nll_loss is better the lower it is"):
        watch(task, argparse.Namespace(), checkpoint)


def test_bleu_needs_to_be_computed(tmp_path):
    data = write_data_bin(tmp_path)
    with pytest.raises(InputError, match="bleu needs --eval-bleu"):
        run(
            "train", data, *TRANSLATION, "--best-checkpoint-metric=bleu", SWITCH,
            "--optimizer=adam", "--source-lang=src", "--target-lang=tgt", f"--user-dir={USER_DIR}",
        )  # fmt: skip


def test_another_name_is_missed_after_the_first_validation(language_folder, tmp_path):
    with pytest.raises(InputError, match="shoe_size: validation has loss, ppl$"):
        train(language_folder, tmp_path, "--best-checkpoint-metric=shoe_size", "--max-update=1")
    stats = {"wps": 1, "accuracy": 2, "best_loss": 3, "confusion_a_b": 4, "loss": 5}
    check_metric("confusion_a_b", stats)
    with pytest.raises(InputError, match="x: validation has accuracy, loss$"):
        check_metric("x", stats)


def test_the_first_of_several_splits_has_the_metric(language_folder, tmp_path):
    treebank = tmp_path / "gold.dp"
    treebank.write_text("the\tDT\t2\ncat\tNN\t3\nsings\tVBZ\t0\n")
    output = train(
        language_folder, tmp_path / "run", "--max-epoch=2", f"--treebank={treebank}", SWITCH,
        "--best-checkpoint-metric=uuas", "--valid-subset=valid,test",
    )  # fmt: skip
    assert len(logged(output, "valid_uuas")) == 2 and len(logged(output, "test_ppl")) == 2
    assert '"test_uuas": "nan"' in output
    assert logged(output, "valid_best_uuas")[-1] == max(logged(output, "valid_uuas"))


def test_without_validation_no_metric_is_missed(language_folder, tmp_path):
    options = ["--best-checkpoint-metric=Uuas", "--disable-validation", "--max-update=1"]
    assert "done training" in train(language_folder, tmp_path, *options)


def test_trainings_of_one_process_know_nothing_of_each_other(language_folder, tmp_path):
    """As with hydra, which runs several settings; each has its own best value."""
    with in_this_process():
        train(language_folder, tmp_path / "good", "--optimizer=adam", "--lr=0.01", "--max-epoch=3")
        best_of_good = state_of(tmp_path / "good" / "checkpoint_last.pt")["extra_state"]["best"]
        for name in ("first", "second"):
            train(language_folder, tmp_path / name, "--optimizer=adam", "--lr=0", "--patience=2")
            assert (tmp_path / name / "checkpoint_best.pt").is_file()
            counts = state_of(tmp_path / name / "checkpoint_last.pt")["extra_state"]
            assert counts["train_iterator"]["epoch"] == 4  # the next one
            assert counts["best"] == counts["val_loss"] > best_of_good
