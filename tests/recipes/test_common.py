"""Functions of ``recipes/common.sh``, shared by all recipes, with stand-ins for fairseq."""

import fcntl
import os
import re
import shlex
import subprocess
import sysconfig

import pytest
from fairseq_commands import ROOT

# The shortest possible recipe with two seeds.
RECIPE = f"""
source {shlex.quote(str(ROOT))}/recipes/common.sh
usage="toy.sh one|two [DATA]"
one_of variant "${{1:-}}" one two
epochs=3 width=8
numbers EPOCHS WIDTH
run_seeds 1 2
prepare "$out/data" toys --small "${{2:-}}"
for seed in "${{seeds[@]}}"; do
    folder=$out/$1/seed_$seed
    train "$folder" "$out/data/data-bin" --width "$width"
    score "$here/score.py" "$1 DATA" --run "$folder"
done
"""
PROGRAMS = {
    "fairseq-train": """
while [ "$1" != --save-dir ]; do shift; done
echo "trained $*"
[ ! -e "$2/fails" ] || { echo "no such width"; exit 1; }
[ ! -e "$2/is_killed" ] || { echo "a line of progress"; kill -9 $$; }
touch "$2/checkpoint_last.pt"
""",
    "python": """
if [[ $1 = */preprocess/* ]]; then
    mkdir -p "${@: -1}" && touch "${@: -1}/manifest.json"
fi
echo "python $(basename "$1") ${*:2}"
""",
}


@pytest.fixture
def recipe(tmp_path):
    """Runs the recipe and returns its status and output; has the folders of its runs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}")
        (programs / name).chmod(0o755)
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "toy.sh").write_text(RECIPE)

    def run(*arguments, **settings):
        settings["OUT"] = str(tmp_path / "out")
        settings["PATH"] = f"{programs}:{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", tmp_path / "system" / "toy.sh", *arguments],
            capture_output=True, text=True, env=settings,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    run.out, run.folder = tmp_path / "out", tmp_path / "out" / "one" / "seed_1"
    return run


def test_data_are_prepared_once_and_runs_are_kept(recipe):
    status, said = recipe("one", "raw")
    assert status == 0
    lines = said.splitlines()
    assert lines[0] == f"python toys.py --small raw {recipe.out}/data"
    assert [line.split()[1] for line in lines[1:]] == ["score.py", "score.py"]
    log = (recipe.folder / "train.log").read_text()
    assert "--width 8 --max-epoch 3 --seed 1" in log and log.count("trained") == 1
    status, said = recipe("one")
    assert status == 0 and said.splitlines() == lines[1:]
    assert (recipe.folder / "train.log").read_text() == log


def test_data_that_are_named_again_are_compared(recipe, tmp_path):
    raw = tmp_path / "raw"
    raw.touch()
    recipe("one", str(raw))
    preparing = tmp_path / "bin" / "python"
    preparing.write_text(preparing.read_text().replace(
        "mkdir -p", "echo error: other options >&2; exit 2; mkdir -p"))  # fmt: skip
    status, said = recipe("one", str(raw))
    assert status == 2 and said == "error: other options\n"
    assert recipe("one")[0] == 0


def test_one_training_at_a_time_in_a_folder(recipe):
    recipe.folder.mkdir(parents=True)
    with open(recipe.folder / ".lock", "w") as lock:  # as of fairseq-train, left by a killed recipe
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said = recipe("one", "raw")
        assert status == 2 and f"error: another training runs in {recipe.folder}" in said
    assert recipe("one", "raw")[0] == 0


def test_an_interrupted_run_goes_on_or_starts_its_log_anew(recipe):
    recipe("one", "raw")
    (recipe.folder / "finished").unlink()
    recipe("one")
    assert (recipe.folder / "train.log").read_text().count("trained") == 2
    (recipe.folder / "finished").unlink()
    (recipe.folder / "checkpoint_last.pt").unlink()
    recipe("one")
    assert (recipe.folder / "train.log").read_text().count("trained") == 1


def test_a_failed_training_ends_in_its_last_line(recipe):
    recipe.folder.mkdir(parents=True)
    (recipe.folder / "fails").touch()
    status, said = recipe("one", "raw")
    assert status == 2
    log = recipe.folder / "train.log"
    assert said.endswith(f"error: training failed, see {log}: no such width\n")
    assert not (recipe.folder / "finished").exists()


def test_a_training_that_was_killed_says_so_and_goes_on(recipe):
    recipe.folder.mkdir(parents=True)
    (recipe.folder / "is_killed").touch()
    status, said = recipe("one", "raw")
    last = said.splitlines()[-1]
    assert status == 2 and last.startswith("error: training was stopped by signal KILL, ")
    assert f"see {recipe.folder / 'train.log'}; the same command goes on" in last
    assert not (recipe.folder / "finished").exists()
    (recipe.folder / "is_killed").unlink()
    assert recipe("one")[0] == 0 and (recipe.folder / "finished").exists()


def test_a_run_with_other_options_is_not_taken_for_this_one(recipe):
    recipe("one", "raw")
    status, said = recipe("one", WIDTH="9")
    assert status == 2 and "seed_1 was trained with other options" in said
    # Their order does not matter, nor do options that a later one of the same name replaces.
    options = recipe.folder / "options"
    options.write_text(f"--seed 4 --max-epoch 3 --width 8 --seed {options.parent.name[-1]}\n")
    assert recipe("one", SEED="1")[0] == 0
    # A run kept by a version that did not write options down is accepted.
    (recipe.folder / "options").unlink()
    assert recipe("one", WIDTH="9", SEED="1")[0] == 0


def test_a_run_takes_its_options_from_a_preset(recipe):
    recipe_file = recipe.out.parent / "system" / "toy.sh"
    recipe_file.write_text(
        recipe_file.read_text().replace("--width", "--preset udgn_cpu --max-tokens")
    )
    status, said = recipe("one", "raw")
    assert status == 0, said
    options = (recipe.folder / "options").read_text()
    assert options.startswith("--arch udgn --task structured_masked_lm ")
    assert options.endswith("--max-tokens 8 --max-epoch 3 --seed 1\n")
    assert options.count("--max-tokens") == 1
    recipe_file.write_text(recipe_file.read_text().replace("udgn_cpu", "udgn_gpu"))
    status, said = recipe("two", "raw")
    assert status == 2 and said.endswith(
        "unknown preset 'udgn_gpu'; did you mean 'udgn_cpu'? (fairseq-struct presets lists all)\n"
    )
    assert not (recipe.out / "two").exists()


def scored(said):
    """What is recorded of the scored runs: whether to record, their scale, and the command."""
    found = []
    for line in said.splitlines():
        if line.startswith("python score.py"):
            words = line.partition(" --command ")[2]
            kept = " --results " in words
            command = words.partition(" --results " if kept else " --run ")[0]
            found.append((kept, line.split()[3], command))
    return found


OWN = "recipes/system/toy.sh one DATA"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (True, "paper", OWN)),
        ({"RECORD": "0"}, (False, "paper", OWN)),
        ({"EPOCHS": "3"}, (True, "paper", f"EPOCHS=3 {OWN}")),
        ({"EPOCHS": "4"}, (False, "reduced", f"EPOCHS=4 {OWN}")),
        ({"WIDTH": "9"}, (False, "reduced", f"WIDTH=9 {OWN}")),
        ({"EPOCHS": "4", "RECORD": "1"}, (True, "reduced", f"EPOCHS=4 {OWN}")),
        ({"SEEDS": "5 6"}, (True, "paper", f"SEEDS='5 6' {OWN}")),
        ({"SEEDS": "5\n6\n", "CDPATH": "."}, (True, "paper", f"SEEDS='5 6' {OWN}")),
        ({"THREADS": "2"}, (True, "paper", OWN)),
        ({"HOURS": "0.5"}, (False, "reduced", f"HOURS=0.5 {OWN}")),
        ({"PRECISION": "bf16"}, (False, "reduced", f"PRECISION=bf16 {OWN}")),
    ],
)
def test_a_record_is_of_the_recipes_own_settings_or_asked_for(recipe, settings, expected):
    status, said = recipe("one", "raw", **settings)
    assert status == 0, said
    assert scored(said) == [expected] * 2


def test_hours_precision_and_every_are_options_of_the_training(recipe):
    assert recipe("one", "raw", HOURS=".25", PRECISION="fp16", EVERY="5")[0] == 0
    options = (recipe.folder / "train.log").read_text()
    assert "--stop-time-hours .25 --fp16 --validate-interval 5 --save-interval 5" in options


def test_seed_is_short_for_seeds(recipe):
    assert scored(recipe("one", "raw", SEED="7")[1]) == [(True, "paper", f"SEEDS=7 {OWN}")]
    assert (recipe.out / "one" / "seed_7" / "finished").exists()


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ([], {}, "usage: toy.sh one|two [DATA]"),
        (
            ["six"],
            {},
            "unknown variant 'six'; choose one of: one two\nusage: toy.sh one|two",
        ),
        (["one"], {}, "the data are not prepared yet: name their folder\nusage: toy.sh"),
        (["one"], {"EPOCHS": "0"}, "EPOCHS must be a whole number above 0, not '0'"),
        (["one"], {"WIDTH": "x"}, "WIDTH must be a whole number above 0, not 'x'"),
        (["one"], {"THREADS": "all"}, "THREADS must be a whole number above 0, not 'all'"),
        (["one"], {"HOURS": "0.0"}, "HOURS must be a number above 0, not '0.0'"),
        (["one"], {"HOURS": "1h"}, "HOURS must be a number above 0, not '1h'"),
        (["one"], {"EVERY": "0"}, "EVERY must be a whole number above 0, not '0'"),
        (["one"], {"PRECISION": "half"}, "PRECISION must be bf16 or fp16, not 'half'"),
        (["one"], {"SEEDS": "1 2 1"}, "SEEDS has a seed twice: 1 2 1"),
        (["one"], {"SEEDS": "1", "SEED": "1"}, "SEED is short for SEEDS: set one of them"),
        (["one", "raw"], {"UPDATES": "5"}, "toy.sh does not take UPDATES"),
        (["one", "raw"], {"SIZE": "cpu"}, "toy.sh does not take SIZE"),
        (["one"], {"RECORD": "no"}, "RECORD must be 0 or 1, not 'no'"),
    ],
)
def test_bad_calls_end_before_work_starts(recipe, arguments, settings, message):
    status, said = recipe(*arguments, **settings)
    assert status == 2 and said.startswith(f"error: {message}")
    assert not recipe.out.exists()


def test_every_recipe_has_its_prologue_from_one_file():
    for path in (ROOT / "recipes").glob("*/*.sh"):
        text = path.read_text()
        assert "pipefail" not in text and "--user-dir" not in text, path
        (source,) = [line for line in text.splitlines() if line.startswith("source ")]
        sourced = path.parent / source.partition('")/')[2].strip('"')
        assert sourced.is_file() and sourced != path


def test_files_that_are_kept_are_written_whole():
    """A program that is killed while it writes must leave the old figure."""
    for path in (ROOT / "recipes").glob("*/*.py"):
        text = path.read_text()
        if path.parent.name != "benchmarks":
            assert text.count("savefig(") == text.count("savefig(file, "), path
            assert ".write_text(" not in text and ".write_bytes(" not in text, path


def test_lines_of_text_end_at_newlines_alone():
    """``str.splitlines`` splits sentences at rare Unicode separators, too."""
    for path in (ROOT / "recipes").glob("*/*.py"):
        assert not re.search(r"read_text\([^)]*\)\.splitlines", path.read_text()), path
