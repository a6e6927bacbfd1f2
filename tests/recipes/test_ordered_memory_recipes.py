"""The recipes of Ordered Memory: inputs that they refuse, and runs from end to end."""

from functools import partial

import pytest
from fairseq_commands import ROOT
from recipe_calls import module_of, refusal_of, run_recipe

from fairseq_struct.cli.main import main

RECIPES = ROOT / "recipes" / "ordered_memory"
run = partial(run_recipe, "ordered_memory")


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("listops", [], {}, "usage: listops.sh MODEL [TEST]"),
        ("listops", ["gru"], {}, "unknown model 'gru'; choose one of: ordered_memory "),
        ("listops", ["lstm"], {}, "the data are not prepared yet: name the released test set"),
        ("logical_inference", ["lstm", "x", "d"], {}, "unknown split 'd'"),
        ("logical_inference", ["lstm"], {"HIDDEN": "0"}, "HIDDEN must be a whole number above 0"),
        ("data_size", ["lstm"], {"INSTANCES": "9"}, "has SIZES in place of INSTANCES"),
        ("data_size", ["lstm"], {"SIZES": "5 x"}, "SIZES must be a whole number above 0, not 'x'"),
        ("trivial_trees", ["logical_inference_c"], {}, "choose one of: logical_inference listops"),
        ("trivial_trees", ["listops", "x", "c"], {}, "ListOps has no splits"),
        ("trivial_trees", ["logical_inference", "x", "d"], {}, "unknown split 'd'"),
        ("table", ["listops_long"], {}, "unknown experiment 'listops_long'"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    assert message in refusal_of("ordered_memory", tmp_path / "out", recipe, *arguments, **settings)


def test_a_rare_separator_is_no_end_of_a_sentence(tmp_path):
    for name, text in (("sentence1", "( a\x85 b )\nc\n"), ("label", "=\n<\n")):
        (tmp_path / f"test.{name}").write_text(text, encoding="utf-8")
    found = module_of("ordered_memory", "score").instances_of(tmp_path, "test")
    assert found == ([("( a\x85 b )",), ("c",)], ["=", "<"])


@pytest.mark.parametrize(("model", "trees"), [("lstm", False), ("ordered_memory", True)])
def test_only_models_with_slots_have_more_of_them_for_long_lists(tmp_path, model, trees):
    out = tmp_path / "ordered_memory"  # as the folder of all models of this recipe
    data = out / "listops" / "data_20"
    lists = ["generate", str(data), "--instances=20", "--depth=3", "--most-tokens=20",
             "--tokens", "21", "25", "--test-instances=4"]  # fmt: skip
    assert main(["prepare", "listops", *lists]) == 0
    settings = {"SIZE": "cpu", "HIDDEN": "8", "EPOCHS": "1", "INSTANCES": "20", "RECORD": "0"}
    status, said = run(out, "listops", model, **settings)
    assert status == 0, said
    short, long = said.splitlines()[-2:]
    assert short.startswith(f"listops {model}: accuracy ") and (" f1 " in short) == trees
    assert long.startswith(f"listops_long {model}: accuracy_21_25 ")
    assert ("f1_21_25" in long) == trees
