"""Rows of tables: which records are seeds of one row, and what the row says of them."""

from itertools import permutations

import pytest
from toy_records import grid, result

from fairseq_struct.records.rows import in_words, rows_of
from fairseq_struct.records.tables import markdown_table


def test_rows_that_differ_by_seed_alone_are_one_with_mean_and_deviation():
    scores = {1: 30.0, 2: 32.0, 3: 37.0}
    results = [
        result(metrics={"bleu": score}, seed=seed, command=f"SEED='{seed}' recipes/toy.sh top_k")
        for seed, score in scores.items()
    ]
    (row,) = rows_of(results)
    assert row.seeds == (1, 2, 3)
    assert row.ours("bleu") == "33.00 ± 3.61"  # sqrt((9 + 1 + 16) / 2)
    table = markdown_table([*results, result("b", metrics={"bleu": 1.0})])
    assert "mean ± standard deviation over seeds; 10 updates" in table
    assert [line[1:] for line in grid(table) if line[0] in ("bleu", "seeds")] == [
        ["33.00 ± 3.61", "1.00"], ["3", "1"]
    ]  # fmt: skip
    assert "`SEEDS='1 2 3' recipes/toy.sh VARIANT`" in table
    assert "deviation over 3 seeds; 10 updates" in markdown_table(results)


@pytest.mark.parametrize("change", [{"updates": 20}, {"scale": "paper"}, {"data": "other data"}])
def test_runs_of_another_setting_keep_their_own_row(change):
    assert [row.seeds for row in rows_of([result(), result(seed=2, **change)])] == [(1,), (2,)]


def test_settings_of_the_command_make_rows_of_their_own():
    other = [result(seed=2, command=f"SEEDS=2 {text}recipes/toy.sh top_k DATA")
             for text in ("", "LR=0.5 SIZE=cpu ")]  # fmt: skip
    found = rows_of([result(), *other])
    assert [row.seeds for row in found] == [(1, 2), (2,)]
    table = markdown_table([result(), *other])
    assert {line[0] for line in grid(table)} | set(grid(table)[0]) >= {
        "`top_k`", "`top_k`, `LR=0.5`, `SIZE=cpu`",
    }  # fmt: skip


def test_a_number_of_fewer_seeds_says_so():
    runs = [result(seed=k, metrics={"bleu": 30.0, **more})
            for k, more in ((1, {}), (2, {"late": 1.0}), (3, {"late": 2.0}))]  # fmt: skip
    (row,) = rows_of(runs)
    assert row.ours("late") == "1.50 ± 0.71, 2 of 3 seeds" and row.ours("bleu") == "30.00 ± 0.00"
    assert rows_of(runs[:2])[0].ours("late") == "1.00, 1 of 2 seeds"


def test_seeds_whose_epochs_have_a_few_updates_more_are_one_row():
    runs = [result(seed=seed, updates=n) for seed, n in ((1, 1000), (2, 1004), (3, 998))]
    (row,) = rows_of(runs)
    assert row.updates == "998 to 1,004" and row.seeds == (1, 2, 3)
    assert "; 998 to 1,004 updates" in markdown_table(runs)
    assert len(rows_of([*runs, result(seed=4, updates=1009)])) == 2  # 1.1 % more than seed 3


def test_a_run_joins_the_row_with_the_nearest_number_of_updates():
    runs = [(1, 1000), (2, 1000), (1, 1005), (2, 1005), (3, 1005)]  # a setting and a longer one
    found = rows_of([result(seed=seed, updates=updates) for seed, updates in runs])
    assert [(row.seeds, row.updates) for row in found] == [((1, 2), "1,000"), ((1, 2, 3), "1,005")]


def test_a_seed_is_in_a_row_once_whatever_the_order_of_the_records():
    runs = [result(seed=k, updates=updates) for k, updates in ((1, 1000), (2, 1005), (1, 1005))]
    for order in permutations(runs):
        found = {row.updates: row.seeds for row in rows_of(order)}
        assert found == {"1,000": (1,), "1,005": (1, 2)}
    runs = [result(seed=k, updates=n) for k, n in ((1, 998), (2, 1000), (3, 1004), (4, 1009))]
    for order in permutations(runs):
        assert sorted(row.seeds for row in rows_of(order)) == [(1, 2, 3), (4,)]


def test_times_on_several_devices_are_not_averaged():
    devices = {1: "a GPU", 2: "a core, avx2, 1 thread", 3: "a GPU", 4: "a core, 1 thread"}
    minutes = {1: 2, 2: 50, 3: 4, 4: 70}
    runs = [result(seed=k, device=devices[k], minutes=minutes[k]) for k in devices]
    table = markdown_table([result("b", device="a core, 1 thread", minutes=9), *runs])
    cells = {row[0]: row[1:] for row in grid(table)}
    assert cells[""] == ["`b`", "`top_k`"]
    assert cells["minutes (a core, 1 thread)"] == ["9", "60"]
    assert cells["minutes (a GPU)"] == ["", "3"]
    assert "; 3 minutes" in markdown_table([runs[0], runs[2]])
    threads = [result(device="a core, 1 thread"), result(seed=2, device="a core, 8 threads")]
    assert len(rows_of(threads)[0].minutes) == 2


def test_seeds_of_the_models_that_were_measured_are_seeds_too():
    texts = [f"trees; a_model, seed {seed}, 5 updates" for seed in (1, 2)]
    results = [result(data=text, seed=seed) for seed, text in enumerate(texts, start=1)]
    (row,) = rows_of(results)
    assert row.data == "trees; a_model, several seeds, 5 updates"
    assert rows_of(results[:1])[0].data == texts[0]
    older = result(data="trees; a_model, seed 3", seed=3)  # does not tell the updates
    assert len(rows_of([*results, older])) == 2
    texts = [f"trees; a_model, seed {k}, {n} updates" for k, n in ((1, 1000), (2, 1005))]
    results = [result(data=text, seed=k) for k, text in enumerate(texts, start=1)]
    assert [row.data for row in rows_of(results)] == ["trees; a_model, several seeds"]
    longer = result(data="trees; a_model, seed 3, 12000 updates", seed=3)
    assert [row.seeds for row in rows_of([*results, longer])] == [(1, 2), (3,)]


def test_a_record_over_several_runs_has_its_error_in_the_cell():
    metrics = {"accuracy": 80.0, "accuracy_stderr": 0.5, "lost_stderr": 1.0}
    paper = {"accuracy": 82.0, "accuracy_stderr": 0.25}
    row = rows_of([result(metrics=metrics, paper=paper)])[0]
    assert row.metrics == ["accuracy", "lost_stderr"]
    assert row.cell("accuracy") == "80.00 ± 0.50 (82.00 ± 0.25)"
    assert in_words(row) == (
        "toy top_k: accuracy 80.00 ± 0.50  lost_stderr 1.00  (paper: accuracy 82.00 ± 0.25)"
    )
    assert "seed" not in markdown_table([result(metrics=metrics)])  # the data names the seeds
