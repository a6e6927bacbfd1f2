"""The recipes of latent trees: depths of trees, and trees that a parser gives."""

import random
from functools import partial

import pytest
from fairseq_commands import ROOT
from recipe_calls import module_of, refusal_of, run_recipe
from small_treebanks import write_treebank

from fairseq_struct.errors import InputError

RECIPES = ROOT / "recipes" / "latent_tree"
SETTINGS = {"EPOCHS": "1", "SEEDS": "1", "RECORD": "0", "PARSER_EPOCHS": "1"}
run = partial(run_recipe, "latent_tree")


@pytest.fixture
def imported(monkeypatch):
    """The scripts of the recipes, as modules."""
    monkeypatch.syspath_prepend(str(RECIPES))
    import depths
    import given_trees

    return depths, given_trees


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("sst"), random.Random(1)
    for split, count in (("train", 64), ("dev", 16), ("test", 16)):
        rows = []
        for _ in range(count):
            label = draw.randrange(2)
            words = [draw.choice("abcdefgh") for _ in range(draw.randrange(2, 6))]
            rows.append(" ".join([*words, ("bad", "good")[label]]) + f"\t{label}\n")
        (folder / f"{split}.tsv").write_text("".join(rows))
    write_treebank(folder / "UD_Toy", train=20, held_out=4)
    return folder


@pytest.mark.parametrize(
    ("recipe", "arguments", "message"),
    [
        ("trees", [], "usage: trees.sh DATA [METHOD …]"),
        ("trees", ["HERE", "baseline"], "unknown method 'baseline'; choose one of: marginals"),
        ("gold_trees", ["20"], "unknown SHARE '20'; choose one of: 0 10 50 100"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, message):
    said = refusal_of("latent_tree", tmp_path / "out", recipe, *arguments)
    assert said.startswith(f"error: {message}")


def test_depths_and_pictures_of_the_runs_of_two_methods(data, tmp_path):
    status, said = run(tmp_path, "trees", data, "marginals", "spigot", **SETTINGS)
    assert status == 0, said
    rows = [line for line in said.splitlines() if line.startswith("sst_trees ")]
    assert [row.split(": ")[0] for row in rows] == ["sst_trees marginals", "sst_trees spigot"]
    assert all(" tree_depth " in row and " depth_7 " in row for row in rows)
    assert (tmp_path / "trees/depths.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "trees/trees.svg").read_text()
    assert drawn.count(">spigot<") == drawn.count(">marginals<") == 6


def test_trees_of_a_parser_from_its_training_to_the_row(data, tmp_path):
    status, said = run(tmp_path, "gold_trees", "50", data, data / "UD_Toy", **SETTINGS)
    assert status == 0, said
    assert "sst_gold_trees 50: accuracy " in said and " uas " in said and " uuas " in said
    assert not run(tmp_path, "gold_trees", "50", **SETTINGS)[0]  # all of it is there
    write_treebank(tmp_path / "UD_Other", train=2, held_out=1)
    status, said = run(tmp_path, "gold_trees", "50", data, tmp_path / "UD_Other", **SETTINGS)
    assert status == 2 and "has trees of a parser of UD_Toy: choose another OUT" in said
    status, said = run(tmp_path, "gold_trees", "0", **SETTINGS)
    assert status == 0 and "sst_gold_trees 0: accuracy " in said, said


def test_a_training_without_a_test_set_is_not_summarised(tmp_path):
    (tmp_path / "train.log").write_text(
        'x | train | {"epoch": 1, "train_num_updates": "1", "train_train_wall": "1"}\n'
        'x | valid | {"epoch": 1, "valid_accuracy": "50"}\ndone training in 1.0 seconds\n'
    )
    with pytest.raises(InputError, match="the log has no values of test after epoch 1"):
        module_of("latent_tree", "summarise").best_of(tmp_path)


def test_shares_of_depths(imported):
    depths, _ = imported
    chain = tuple(range(9))  # each word's head is the word before it
    found = depths.depths_of([(0,), (2, 0, 2), chain])
    assert found == [1, 2, 9]
    shares = depths.shares(found)
    assert shares["tree_depth"] == 4.0
    assert [shares[f"depth_{n}"] for n in (1, 2, 3, 7)] == [33.33, 33.33, 0.0, 33.33]


def test_trees_without_crossing_arcs_are_drawn(imported):
    _, given_trees = imported
    flat = {(str(number),) * 4: (0, 1, 1, 1) for number in range(8)}
    crossing = {("x",) * 4: (0, 4, 1, 3), ("y",) * 4: (3, 4, 0, 3)}
    every = given_trees.drawn(flat | crossing, 100, seed=1)
    assert every == list(flat)
    some = given_trees.drawn(flat | crossing, 50, seed=1)
    assert len(some) == 5 and set(some) < set(flat) and some == sorted(some)
    assert some != given_trees.drawn(flat | crossing, 50, seed=2)
