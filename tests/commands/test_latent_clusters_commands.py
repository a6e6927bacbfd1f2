"""The synthetic experiment with latent clusters through fairseq's commands, and its recipe."""

import json
import re
import shutil
import sys

import pytest
from fairseq_commands import ROOT, USER_DIR, run, start
from resumed_trainings import whole_and_resumed

from fairseq_struct import compat
from fairseq_struct.errors import InputError
from fairseq_struct.records.scoring import log_of

SIZES = ("0.00002", "0.0002", "0.0004")
SMALL = [
    f"--user-dir={USER_DIR}",
    "--task=latent_clusters",
    "--arch=latent_clusters",
    "--criterion=latent_clusters",
    "--clusters=3",
    "--dim=20",
    "--train-size=200",
    "--valid-size=50",
    "--test-size=50",
    "--batches-per-epoch=5",
    "--batch-size=200",
    "--optimizer=adam",
    "--lr=0.01",
    "--valid-subset=valid,test",
    "--num-workers=0",
    "--no-epoch-checkpoints",
    "--no-progress-bar",
    "--log-format=json",
]


def entries(log, subset):
    found = (json.loads(line) for line in re.findall(r"^(\{\"epoch\".*\})$", log, re.M))
    return [entry for entry in found if f"{subset}_loss" in entry]


@pytest.mark.parametrize("method", ["sfe_baseline", "spigot_ce"])
def test_a_resumed_run_repeats_the_uninterrupted_one(method, tmp_path):
    options = [*SMALL, f"--latent-method={method}"]
    whole, resumed = whole_and_resumed(tmp_path, *options, cut=7, updates=15)
    assert [entry["valid_num_updates"] for entry in entries(whole, "valid")] == ["5", "10", "15"]
    assert entries(whole, "test")[-1] == entries(resumed, "test")[-1]


def test_measures_do_not_depend_on_batches(tmp_path):
    """Also, fairseq keeps the checkpoint that is best by one of the measures."""
    logs = [
        run("train", *SMALL, "--latent-method=ste_identity", "--max-update=5",
            f"--batch-size-valid={size}", "--best-checkpoint-metric=accuracy",
            "--maximize-best-checkpoint-metric", f"--save-dir={tmp_path}/{size}")
        for size in (50, 7)
    ]  # fmt: skip
    first, second = (entries(log, "valid")[-1] for log in logs)
    for name in ("valid_accuracy", "valid_v_measure"):
        assert first[name] == second[name]
    assert float(first["valid_loss"]) == pytest.approx(float(second["valid_loss"]), abs=2e-4)
    assert 0 < float(first["valid_v_measure"]) <= 100
    assert "valid_v_measure" not in json.dumps(entries(logs[0], "train"))
    best = compat.load_state(tmp_path / "50" / "checkpoint_best.pt")
    assert best["extra_state"]["best"] == pytest.approx(float(first["valid_accuracy"]))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--clusters=1", "at least 2 clusters"),
        ("--latent-method=softmacks", "unknown latent method"),
        ("--valid-subset=dev", "unknown split 'dev'"),
    ],
)
def test_bad_options_end_in_one_sentence(option, message, tmp_path):
    with pytest.raises(InputError, match=message):
        run("train", *SMALL, option, "--max-update=1", f"--save-dir={tmp_path}")


def test_recipe_makes_summarises_and_keeps_runs(tmp_path):
    environment = {"OUT": str(tmp_path), "UPDATES": "2", "SEEDS": "1", "RECORD": "0"}
    environment |= {"LEARNING_RATES": ".001 0.01", "STEP_SIZES": "0.1 .2"}
    command = ["bash", ROOT / "recipes/latent_clusters/table.sh"]
    one_rate = environment | {"LEARNING_RATES": "0.01", "CLUSTERS": "3"}
    process = start(*command, "spigot", **one_rate)
    output = process.communicate()[0]
    assert process.returncode == 0 and "clusters_3 spigot: " in output, output
    names = {path.parent.name for path in tmp_path.rglob("rate_*")}
    assert names == {"spigot.steps_1.size_0.1", "spigot.steps_1.size_.2"}
    shutil.rmtree(tmp_path / "clusters_3")
    process = start(*command, "gold", **environment)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    lines = [line for line in output.splitlines() if line.startswith("clusters_")]
    assert [line.split(":")[0] for line in lines] == ["clusters_3 gold", "clusters_10 gold"]
    assert all("v_measure 100.00 ± 0.00  learning_rate_thousandths " in line for line in lines)
    logs = {path: path.read_text() for path in tmp_path.rglob("train.log")}  # they hold times
    assert len(logs) == 4
    process = start(*command, "gold", **environment)
    assert process.communicate()[0] == output
    assert {path: path.read_text() for path in tmp_path.rglob("train.log")} == logs


@pytest.mark.parametrize(
    ("argument", "environment", "message"),
    [
        ("spiggot", {}, "unknown method 'spiggot'"),
        ("gold", {"UPDATES": "many"}, "UPDATES must be a whole number above 0, not 'many'"),
        ("gold", {"LEARNING_RATES": "1e-3"}, "LEARNING_RATES must be numbers between 0 and 1"),
        ("gold", {"STEP_SIZES": "0"}, "STEP_SIZES must be numbers between 0 and 1"),
        ("gold", {"CLUSTERS": "4"}, "unknown number of clusters '4'"),
        ("gold", {"SEEDS": "1 2 1"}, "SEEDS has a seed twice: 1 2 1"),
        ("gold", {"SEEDS": "1 x"}, "SEEDS must be a whole number above 0, not 'x'"),
    ],
)
def test_recipe_refuses_bad_settings(argument, environment, message, tmp_path):
    recipe = ROOT / "recipes/latent_clusters/table.sh"
    process = start("bash", recipe, argument, OUT=str(tmp_path), **environment)
    assert process.communicate()[0].startswith(f"error: {message}")
    assert process.returncode == 2


def log_of_a_run(valid_accuracy):
    lines = []
    for epoch, update in enumerate((100, 200), start=1):
        for subset, accuracy in (("valid", valid_accuracy), ("test", 60)):
            entry = {"epoch": epoch, f"{subset}_accuracy": str(accuracy)}
            entry |= {f"{subset}_v_measure": "50.5", f"{subset}_num_updates": str(update)}
            lines.append(f"now | INFO | {subset} | {json.dumps(entry)}")
        entry = {"epoch": epoch, "train_num_updates": str(update), "train_train_wall": "45"}
        lines.append(f"now | INFO | train | {json.dumps(entry)}")
    return "\n".join([*lines, "now | INFO | fairseq_cli.train | done training in 1.5 seconds"])


def write_run(folder, rate, seed, valid_accuracy):
    folder = folder / f"rate_{rate}" / "updates_200" / f"seed_{seed}"
    folder.mkdir(parents=True)
    (folder / "train.log").write_text(log_of_a_run(valid_accuracy))
    return folder / "train.log"


def test_the_setting_is_that_of_the_highest_median_validation_accuracy(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes/latent_clusters"))
    import summarise

    for rate, accuracies in {"0.1": (50, 60, 99), "0.2": (61, 62, 63)}.items():
        for seed, accuracy in enumerate(accuracies):
            write_run(tmp_path, rate, seed, accuracy)
    folders = [tmp_path / "rate_0.1", tmp_path / "rate_0.2"]
    best, logs = summarise.best_runs(folders, 200, [0, 1, 2])
    last = [summarise.validations_of(log)[-1] for log in logs]
    assert best == 1 and [one.valid["accuracy"] for one in last] == [61, 62, 63]
    with pytest.raises(InputError, match=r"rate_0\.3.*no such run"):
        summarise.best_runs([tmp_path / "rate_0.3"], 200, [0, 1, 2])


def test_a_row_has_the_settings_of_table_a_1(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes/latent_clusters"))
    import summarise

    grid = (["0.0001", "0.001", "0.002"], ["0.00002", "0.0002", "0.0004"])
    assert len(summarise.settings_of("spigot_ce", *grid)) == 9
    assert len(summarise.settings_of("ste_identity", *grid)) == 3
    last = summarise.settings_of("spigot_ce", *grid)[-1]
    assert last.folder("spigot_ce") == "spigot_ce.steps_1.size_0.0004/rate_0.002"
    assert last.chosen() == {"learning_rate_thousandths": 2.0, "eta": 2.0}
    assert summarise.Setting("0.001").chosen() == {"learning_rate_thousandths": 1.0}


def test_figures_from_logs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes/latent_clusters"))
    import figures
    import summarise

    names = list(figures.CURVES)
    names += [f"{method}.steps_{steps}.size_{size}" for method in figures.PULLED_BACK
              for steps in figures.STEPS for size in SIZES]  # fmt: skip
    for name in names:
        log = write_run(tmp_path / "clusters_10" / name, "0.002", 1, 55)
    read = log_of(log.parent)
    validations = summarise.validations_of(read)
    assert read.minutes == 1.5 and [at.update for at in validations] == [100, 200]
    assert [validations[1].test[name] for name in summarise.METRICS] == [60.0, 50.5]
    for figure in ("4.2", "4.3"):
        picture = tmp_path / f"{figure}.png"
        arguments = ["--runs", tmp_path, "--updates", 200, "--seeds", 1, "--output", picture]
        arguments += ["--learning-rates", "0.002", "--step-sizes", *SIZES]
        monkeypatch.setattr(sys, "argv", ["figures.py", figure, *map(str, arguments)])
        figures.main()
        assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="no such run"):
        log_of(tmp_path)
