"""The recipes of option-controller networks: inputs that they refuse, runs from end to end."""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq_commands import ROOT
from recipe_calls import module_of, refusal_of, run_recipe

from fairseq_struct.errors import InputError
from fairseq_struct.records.paper_values import paper_values
from fairseq_struct.records.results import Result, append_result

RECIPES = ROOT / "recipes" / "option_controller"
TINY = {
    "SIZE": "cpu", "DEMONSTRATIONS": "5", "BATCH": "16", "UPDATES": "2", "HIDDEN": "4",
    "EPISODES": "3", "SEEDS": "1", "RECORD": "0",
}  # fmt: skip
ITERATION = 1024 * 5  # steps of the environment of one iteration of options
run = partial(run_recipe, "option_controller")


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("s1", [], {}, "usage: s1.sh VARIANT [TASK REWARD]"),
        ("s1", ["ppo"], {}, "unknown variant of imitation 'ppo'; choose one of: ocn ocn_t1 moe"),
        ("s1", ["ompn", "DCA", "sparse"], {}, "unknown variant of fine-tuning 'ompn'"),
        ("s1", ["ocn", "BADC", "sparse"], {}, "unknown task 'BADC'; choose one of: ADC CAD DCA"),
        ("s2", ["ocn", "BADC"], {}, "usage: s2.sh VARIANT [TASK REWARD]"),
        ("s2", ["ocn", "BADC", "rich"], {}, "unknown reward 'rich'; choose one of: sparse dense"),
        ("s1", ["ocn_selected"], {}, "unknown variant of imitation 'ocn_selected'"),
        ("s1", ["moe"], {"BATCH": "0"}, "BATCH must be a whole number above 0, not '0'"),
        ("s1", ["ocn", "DCA", "dense"], {"STEPS": "5119"}, "STEPS must be 5120 or more, one"),
        ("s1", ["ppo", "DCA", "dense"], {"STEPS": "1023"}, "STEPS must be 1024 or more, one"),
        ("options_count", ["6"], {}, "unknown K '6'; choose one of: 2 3 4 5"),
        ("curves", ["18"], {}, "unknown figure '18'"),
        ("curves", ["19"], {}, "no run of figure 19 with these settings in"),
        ("table", ["s1_badc_sparse"], {}, "unknown experiment 's1_badc_sparse'"),
    ],
)  # fmt: skip
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    said = refusal_of("option_controller", tmp_path / "out", recipe, *arguments, **settings)
    assert message in said


def test_options_are_learned_once_reused_tried_alone_and_repaired(tmp_path):
    """A whole S1; the imitation serves all recipes."""
    out = tmp_path / "out"
    status, said = run(out, "s1", "ocn", "DCA", "sparse", STEPS=str(ITERATION), **TINY)
    assert status == 0, said
    found = re.search(r"s1_dca_sparse ocn: return \S+  success (\S+)  steps .*_steps (\d+)", said)
    assert found and 0 <= float(found[1]) <= 100 and int(found[2]) >= 1024, said
    (imitation,) = out.glob("imitation/ac_cd_da/*")
    (tuned,) = out.glob("fine_tuning/dca_sparse/*/seed_1")
    options = (tuned / "options").read_text()
    assert f"--options-from imitation/ac_cd_da/{imitation.name}/seed_1/checkpoint_last" in options
    assert "--total-num-update 16 " in options  # of the one iteration

    status, said = run(out, "s1", "ocn", **TINY)
    assert status == 0 and "drawing" not in said, said
    assert re.search(r"s1_imitation ocn: nmi .* action_accuracy \S+  return \S+  nmi_is_1", said)
    status, said = run(out, "option_success", **TINY)
    assert status == 0, said
    rows = re.findall(r"s1_option_success (\w+): success_a \S+  success_c \S+  success_d", said)
    assert rows == ["option_a", "option_c", "option_d", "ocn"] and "success_other_most" in said
    few = {"RETRAINING_DEMONSTRATIONS": "5", "RETRAINING_UPDATES": "1"}
    status, said = run(out, "retrain_option", **TINY, **few)
    assert status == 0 and "s1_retrained_option ocn, seed 1: option_before " in said, said
    (retrained,) = out.glob("imitation/ac_cd_da/*.retrained_2.*/seed_1/checkpoint_last.pt")
    before, after = (
        torch.load(path, weights_only=False)["model"]
        for path in (imitation / "seed_1" / "checkpoint_last.pt", retrained)
    )
    changed = {name for name in before if not before[name].equal(after[name])}
    assert changed >= {name for name in before if ".options.2." in name}
    assert not any(".options.0." in name or ".options.1." in name for name in changed)

    status, said = run(
        out, "s1", "ocn_selected", "DCA", "sparse", STEPS=str(ITERATION), IMITATIONS="2", **TINY
    )
    assert status == 0 and "s1_dca_sparse ocn_selected: return " in said, said
    losses = {
        float(re.findall(r'"valid_loss": "([\d.]+)"', log.read_text())[-1]): log.parent.name
        for log in imitation.glob("seed_*/train.log")
    }
    (tuned,) = out.glob("fine_tuning/dca_sparse/ocn_selected.*.of_2.*/seed_1")
    assert len(losses) == 2
    assert f"/{losses[min(losses)]}/checkpoint_last" in (tuned / "options").read_text()

    for figure, settings in (("16_sparse", {"STEPS": str(ITERATION)}), ("19", {})):
        path = tmp_path / f"{figure}.png"
        status, said = run(out, "curves", figure, path, **TINY | settings)
        assert status == 0 and path.read_bytes().startswith(b"\x89PNG"), said


def test_the_options_of_two_models_are_merged_and_experts_take_single_steps(tmp_path):
    out = tmp_path / "out"
    status, said = run(out, "s2", "moe", "CABD", "dense", STEPS="1024", **TINY)
    assert status == 0, said
    assert re.search(r"s2_cabd_dense moe: return \S+  .*environment_steps 1024", said), said
    (tuned,) = out.glob("fine_tuning/cabd_dense/moe.*/seed_1")
    options = (tuned / "options").read_text()
    assert re.search(r"--options-from imitation/ab_ba/\S+\.pt,imitation/cd_dc/\S+\.pt ", options)
    parameters = torch.load(tuned / "checkpoint_last.pt", weights_only=False)["model"]
    assert parameters["policy.controller.cell.act.weight"].shape[0] == 4
    status, said = run(out, "s2", "moe", **TINY)
    assert status == 0 and re.search(r"s2_imitation moe: nmi_ab_ba .* nmi_cd_dc ", said), said
    status, said = run(out, "s2", "bot", "CABD", "dense", **TINY)
    assert status == 0 and "s2_cabd_dense bot: return 4.00  success 100.00" in said, said


def test_returns_by_options_are_those_of_seeds_with_all_of_them(tmp_path):
    records = tmp_path / "results.jsonl"
    for variant, seed, value in (
        ("k3", 1, 0.9), ("k2", 1, 0.4), ("k2", 2, 0.5), ("ocn", 1, 0.1), ("k3", 3, 0.8),
        ("k2", 3, 0.6),
    ):  # fmt: skip
        append_result(records, Result(
            "s1_options_count", variant, {"return": value}, {}, "reduced", "Craft", seed, 10, "cpu",
            1.0, "options_count.sh",
        ))  # fmt: skip
    curves = module_of("option_controller", "curves")
    (panel,) = curves.returns_by_options(records, "s1_options_count")
    assert panel.curves == {"ocn": [([2, 3], [0.4, 0.9]), ([2, 3], [0.6, 0.8])]}
    assert curves.returns_by_options(records, "another") == []
    curves.draw(tmp_path / "21.png", [panel], "")
    assert (tmp_path / "21.png").read_bytes().startswith(b"\x89PNG")
    append_result(records, Result(
        "s1_options_count", "k3", {"return": 0.2}, {}, "reduced", "Craft", 1, 10, "cpu", 1.0,
        "HIDDEN=4 options_count.sh",
    ))  # fmt: skip
    with pytest.raises(InputError, match="s1_options_count k3: its records differ"):
        curves.returns_by_options(records, "s1_options_count")


def test_a_training_that_went_back_has_no_points_of_its_past(tmp_path):
    log = tmp_path / "ocn" / "seed_1" / "train.log"
    log.parent.mkdir(parents=True)
    points = ((5, 0.1), (10, 0.2), (15, 0.3), (7, 0.4), (14, 0.5))  # begun again, by sevens
    log.write_text("".join(
        f'x | train | {{"epoch": 1, "train_environment_steps": "{x}", "train_return": "{y}"}}\n'
        for x, y in points
    ))  # fmt: skip
    curves = module_of("option_controller", "curves")
    (panel,) = curves.panels_of([["DCA", "return", "ocn", str(log.parent.parent)]])
    assert panel.curves == {"ocn": [([5, 7, 14], [0.1, 0.4, 0.5])]}
    with pytest.raises(InputError, match=r"train.log: no metric 'nmi' of valid"):
        curves.panels_of([["DCA", "nmi", "ocn", str(log.parent.parent)]])


def test_every_subtask_has_an_option_of_its_own():
    own_options = module_of("option_controller", "policies").own_options
    thesis = np.array([[0.96, 0.07, 0.03], [0.00, 0.02, 0.95], [0.01, 0.98, 0.01]])
    assert own_options(thesis) == (0, 2, 1)
    # The best option of both subtasks goes where it is missed most; the worst has none.
    assert own_options(np.array([[0.9, 0.8], [0.8, 0.1], [0.0, 0.0]])) == (1, 0)
    assert own_options(np.array([[0.9, 0.0, 0.9], [0.0, 0.8, 0.7]])) == (0, 1, 0)


def test_the_tables_have_the_numbers_of_the_thesis():
    assert paper_values(RECIPES, "s1_option_success", "option_d") == {
        "success_a": 0, "success_c": 2, "success_d": 95,
    }  # fmt: skip
    assert paper_values(RECIPES, "s1_imitation", "ocn") == {"nmi_is_1": 80}
    assert paper_values(RECIPES, "s1_options_count", "k2") == {"nmi": 40}
    assert paper_values(RECIPES, "s1_cad_sparse", "ocn") == {"return": 0.7}


def test_policies_are_compared_after_equal_numbers_of_steps(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPES))
    fine_tuning = module_of("option_controller", "fine_tuning")
    epochs = {
        2: {"environment_steps": 900.0, "return": 0.5}, 1: {"environment_steps": 400.0},
        3: {"environment_steps": 1200.0, "return": 0.75},
    }  # fmt: skip
    log = SimpleNamespace(splits={"train": epochs})
    found = [fine_tuning.return_at(log, steps) for steps in (300, 900, 901, 1201)]
    assert found == [0.5, 0.5, 0.75, None]
