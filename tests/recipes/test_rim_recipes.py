"""The recipes of grammar induction: inputs that they refuse, runs from end to end, their scores."""

import importlib
import re
import sys
from functools import partial

import numpy as np
import pytest
from fairseq_commands import ROOT
from nltk import Tree
from recipe_calls import refusal_of, run_recipe

from fairseq_struct.data.generators.phrase_structures import generate_trees
from fairseq_struct.data.readers.bracket_trees import spans_of, to_line
from fairseq_struct.data.readers.transformation_lists import steps_of
from fairseq_struct.records.paper_values import paper_values, published_only
from fairseq_struct.records.results import Result, append_result

RECIPES = ROOT / "recipes" / "rim"
TINY = {"SIZE": "cpu", "EPOCHS": "1", "SEEDS": "1", "RECORD": "0"}
run = partial(run_recipe, "rim")


@pytest.fixture(scope="module")
def modules():
    """The recipes' Python files, by name."""
    names = ("test_part", "scored_runs", "free_running", "trivial_trees", "units_topk")
    sys.path.insert(0, str(RECIPES))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(RECIPES))
        for name in names:
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("main", [], {}, "usage: main.sh VARIANT DATA"),
        ("main", ["two_layers"], {}, "unknown variant 'two_layers'; choose one of: one_layer"),
        ("main", ["one_layer"], {}, "the data are not prepared yet: name their folder"),
        ("main", ["one_layer", "x"], {"BATCH": "0"}, "BATCH must be a whole number above 0"),
        ("main", ["one_layer", "x"], {"SIZE": "small"}, "SIZE must be paper or cpu, not 'small'"),
        ("main", ["lstm", "x"], {"EMBEDDINGS": "nowhere"}, "nowhere: no such file (EMBEDDINGS)"),
        ("main", ["single_sentences", "x"], {}, "single_sentences is for SIZE=cpu"),
        ("layers", ["one_layer"], {}, "unknown variant 'one_layer'"),
        ("units_topk", ["3_5"], {}, "unknown N_K '3_5'; choose one of: 1_1 3_1 5_1 7_1 3_3 5_3"),
        ("free_running", ["softmax_span"], {}, "unknown variant 'softmax_span'"),
        ("downstream", ["root", "x", "x"], {}, "unknown variant 'root'; choose one of: root_v"),
        ("table", ["wsj"], {}, "unknown experiment 'wsj'"),
    ],
)  # fmt: skip
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    assert message in refusal_of("rim", tmp_path / "out", recipe, *arguments, **settings)


def test_from_trees_to_windows_trees_and_sentiment(tmp_path):
    """One composer serves the recipes that can share it."""
    out, trees = tmp_path / "out", tmp_path / "trees.mrg"
    drawn = generate_trees(60)
    trees.write_text("".join(f"{to_line(tree)}\n" for tree in drawn))
    status, said = run(out, "main", "trivial", trees, **TINY)
    assert status == 0, said
    rows = re.findall(r"^main (\w+): window_0 ([\d.]+) .*window_2_NP [\d.]+", said, re.M)
    assert {name for name, _ in rows} == {
        "random", "rightmost", "span_prior", "constant_from_right"
    }  # fmt: skip
    scores = {name: float(value) for name, value in rows}
    assert scores["constant_from_right"] > scores["rightmost"] and "distance_0 3" in said
    status, said = run(out, "main", "one_layer", **TINY)
    assert status == 0, said
    assert re.search(r"main one_layer: window_0 .*_multi .*window_0_valid .*window_2 86.54", said)
    status, said = run(out, "free_running", "own_spans", **TINY)
    assert status == 0, said
    assert re.search(r"free_running own_spans: f1 .*f1_sentence .*f1_labelled .*category_acc", said)
    (folder,) = out.glob("composers/own_spans.categories.*/seed_1")
    assert "--own-spans linear --own-spans-end-update 2 " in (folder / "options").read_text()
    status, said = run(out, "free_running", "trivial", **TINY)
    assert status == 0 and "gold_order_random_span: f1 " in said, said

    for split in ("train", "dev", "test"):
        lines = (f"{' '.join(tree.leaves())}\t{n % 2}\n" for n, tree in enumerate(drawn[:6]))
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    for variant in ("root_vector", "mean_of_words"):
        status, said = run(out, "downstream", variant, "", tmp_path, **TINY, CLASSIFIER_EPOCHS="1")
        assert status == 0, said
        assert re.search(rf"downstream_sst {variant}: accuracy [\d.]+  accuracy_valid", said)
    assert len(list(out.glob("composers/one_layer.epochs_1.*"))) == 1


def test_punctuation_is_taken_out_of_both_trees(modules):
    gold = Tree.fromstring("(S (NP (DT a) (NN b)) (, ,) (VP (VBD c) (NP (NN d) (NN e))) (. .))")
    free_running = modules["free_running"]
    kept = free_running.words_that_count(gold)
    assert kept == [0, 1, 3, 4, 5]
    scores = free_running.TreeScores()
    # With the comma in the noun phrase and the stop in the verb phrase, nothing is wrong but NP.
    mine = [("S", (0, 7)), ("NP", (0, 3)), ("VP", (3, 7)), ("PP", (4, 6))]
    scores.add(free_running._over(mine, kept), gold, kept)
    assert scores.metrics(labels=True) == {"f1": 100, "f1_sentence": 100, "f1_labelled": 75}
    assert "f1_labelled" not in scores.metrics(labels=False)


def test_random_spans_in_gold_order_make_trees(modules):
    random_spans = modules["trivial_trees"].random_spans
    for seed, tree in enumerate(generate_trees(40)):
        length = len(tree.leaves())
        spans = random_spans(steps_of(tree), length, np.random.default_rng(seed))
        assert (0, length) in spans and len(set(spans)) == len(spans)
        assert all(0 <= a < b - 1 < length for a, b in spans)
        assert not any(s < a < e < b for a, b in spans for s, e in spans)  # none cross
        steps = sum(step.end - step.start > 1 for step in steps_of(tree))
        assert len(spans) <= steps + 1
    # A tree whose only span is that of the sentence leaves no choice but which two to take.
    flat = Tree.fromstring("(S (A a) (A b))")
    assert random_spans(steps_of(flat), 2, np.random.default_rng(1)) == [(0, 2)]


def test_tags_and_steps_of_the_test_part_are_in_the_same_order(modules, tmp_path):
    from fairseq_struct.cli.main import main

    folder = tmp_path / "lists"
    assert main(["prepare", "transformation_lists", "generated", str(folder),
                 "--sentences=40", "--least-count=1"]) == 0  # fmt: skip
    test = modules["test_part"].TestPart(folder)
    names, numbers = test.tags
    assert len(numbers) == len(test.part.steps)
    assert str(test) == f"{len(test.trees)} of 40 sentences"
    hits = np.stack([np.array(names)[numbers] == "NP"] * 3, 1)
    found = test.metrics_of(test.accuracy_of(hits))
    assert found["window_2_NP"] == 100 and found["window_2_VP"] == 0
    phrases = sum(label == "NP" for tree in test.trees for label, _ in spans_of(tree))
    assert found["window_0"] == pytest.approx(100 * phrases / len(numbers), abs=0.01)


def test_bars_are_means_of_the_records_of_the_last_setting(modules, tmp_path):
    records = tmp_path / "results.jsonl"
    runs = ((5, "1_1", 1, 90), (9, "1_1", 1, 50), (9, "3_1", 1, 20), (9, "1_1", 2, 60))
    for updates, cell, seed, accuracy in runs:
        append_result(records, Result(
            experiment="units_topk", variant=cell, metrics=dict.fromkeys(
                (f"window_{w}" for w in range(3)), accuracy), updates=updates, scale="reduced",
            data="trees", command="x", seed=seed,
        ))  # fmt: skip
    cells = modules["units_topk"].cells_of(records)
    assert [(cell.variant, len(cell.results)) for cell in cells] == [("1_1", 2), ("3_1", 1)]
    (axes,) = modules["units_topk"].draw(cells).axes
    assert [bar.get_height() for bar in axes.patches] == [55, 20] * 3
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1_1\n2 seeds", "3_1\n1 seed"]


def test_the_tables_have_the_numbers_of_the_thesis():
    one = paper_values(RECIPES, "main", "one_layer")
    assert one["window_0_multi"] == 85 and one["window_2"] == 86.54 and one["window_1_single"] == 61
    assert published_only(RECIPES, "main") == {
        "one_layer, table TC4.4": {"window_0_single": 6, "window_0_multi": 89}
    }
    two = paper_values(RECIPES, "main", "two_layers")
    assert two["window_2_SBAR"] == 100 and two["window_0_single"] == 20
    assert paper_values(RECIPES, "main", "two_layers_20_epochs") == {
        "window_0_single": 15, "window_0_multi": 91, "window_2": 90.23,
    }  # fmt: skip
    assert paper_values(RECIPES, "units_topk", "5_3") == {"window_2": 86.54}
