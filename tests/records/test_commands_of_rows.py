"""Commands in the captions of tables."""

import pytest

from fairseq_struct.records.commands import command_of, other_commands
from fairseq_struct.records.results import Result
from fairseq_struct.records.tables import markdown_table


def result(variant, command, seed=1, updates=10):
    return Result(
        experiment="toy", variant=variant, metrics={"bleu": 30.5 + seed}, seed=seed,
        updates=updates, device="a processor", data="toy data", command=command,
    )  # fmt: skip


def test_a_command_that_lists_seeds_lists_those_of_all_trainings():
    commands = "recipes/toy.sh top_k", *["SEEDS='2 3' recipes/toy.sh top_k"] * 2
    results = [result("top_k", command, seed) for seed, command in enumerate(commands, 1)]
    assert command_of(results) == "SEEDS='1 2 3' recipes/toy.sh VARIANT"
    random = result("random", "recipes/toy.sh random", seed=7, updates=0)
    assert command_of([*results, random]) == "SEEDS='1 2 3' recipes/toy.sh VARIANT"


def test_commands_with_one_seed_each_become_one_that_lists_them():
    results = [result("top_k", f"SEEDS={seed} recipes/toy.sh top_k", seed) for seed in (1, 2)]
    assert command_of(results) == "SEEDS='1 2' recipes/toy.sh VARIANT"
    assert other_commands(results) == {}


@pytest.mark.parametrize(
    "variant, command, shown",
    [
        ("k2", "SEEDS='1 2 3' recipes/toy.sh 2 DATA", "SEEDS='1 2 3' recipes/toy.sh K DATA"),
        ("k2_random_order", "recipes/toy.sh 2 random", "recipes/toy.sh K random"),
        ("te_mtg, k1", "recipes/toy.sh te_mtg 1 DATA", "recipes/toy.sh te_mtg K DATA"),
        ("stack2", "recipes/toy.sh 2 DATA", "recipes/toy.sh 2 DATA"),
    ],
)
def test_k_stands_for_the_number_of_a_numbered_variant(variant, command, shown):
    assert command_of([result(variant, command)]) == shown


def test_a_caption_names_the_rows_that_another_command_makes():
    table = markdown_table(
        [
            result("one", "SIZE=cpu recipes/toy.sh one DATA"),
            result("two", "SEED=2 SIZE='cpu' recipes/toy.sh two DATA"),
            result("four", "SIZE=cpu SEEDS='2 3' recipes/toy.sh four DATA"),
            result("three", "SIZE=cpu LR=1 recipes/toy.sh three DATA"),
            result("left", "recipes/trivial.sh toy DATA", updates=0),
            result("right", "recipes/trivial.sh toy DATA", updates=0),
        ]
    )
    assert table.splitlines()[0].endswith(
        "Command: `SIZE=cpu recipes/toy.sh VARIANT DATA`. "
        "Of `three`: `SIZE=cpu LR=1 recipes/toy.sh VARIANT DATA`. "
        "Of `left`, `right`: `recipes/trivial.sh toy DATA`"
    )


def test_one_command_stands_for_all_that_differ_by_their_seeds():
    results = [result("one", f"SEEDS={seed} recipes/toy.sh one", seed) for seed in (1, 2)]
    results += [result("two", "LR=1 recipes/toy.sh two"),
                result("two", "LR=1 SEEDS=2 recipes/toy.sh two", 2),
                result("three", "LR=1 recipes/toy.sh three")]  # fmt: skip
    command = "LR=1 SEEDS='1 2' recipes/toy.sh VARIANT"
    assert other_commands(results) == {command: ["two", "three"]}


def test_rows_of_a_benchmark_have_one_command():
    commands = ["recipes/toy.py --rows a b --append", "recipes/toy.py --rows c --append"]
    assert other_commands([result(c[-10], c, updates=0) for c in commands]) == {}
