"""Rows of tables: which records are seeds of one row, and what the row says of them."""

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
    assert "`SEED=SEED recipes/toy.sh VARIANT`" in table
    assert "deviation over 3 seeds; 10 updates" in markdown_table(results)


@pytest.mark.parametrize("change", [{"updates": 20}, {"scale": "paper"}, {"data": "other data"}])
def test_runs_of_another_setting_keep_their_own_row(change):
    assert [row.seeds for row in rows_of([result(), result(seed=2, **change)])] == [(1,), (2,)]


def test_seeds_whose_epochs_have_a_few_updates_more_are_one_row():
    runs = [result(seed=seed, updates=n) for seed, n in ((1, 1000), (2, 1009), (3, 995))]
    (row,) = rows_of(runs)
    assert row.updates == "995 to 1,009" and row.seeds == (1, 2, 3)
    assert "; 995 to 1,009 updates" in markdown_table(runs)
    again = result(seed=1, updates=1001)  # not a further seed
    assert [row.updates for row in rows_of([*runs, again])] == ["995 to 1,009", "1,001"]


def test_times_on_several_devices_are_not_averaged():
    devices = {1: "a processor, avx2, 1 thread", 2: "a GPU", 3: "a GPU", 4: "a processor, 1 thread"}
    minutes = {1: 50, 2: 2, 3: 4, 4: 70}
    runs = [result(seed=k, device=devices[k], minutes=minutes[k]) for k in devices]
    assert "; 60 / 3 minutes, by device" in markdown_table(runs)
    assert "; 3 minutes" in markdown_table(runs[1:3])


def test_seeds_of_the_models_that_were_measured_are_seeds_too():
    texts = [f"trees; a_model, seed {seed}, 5 updates" for seed in (1, 2)]
    results = [result(data=text, seed=seed) for seed, text in enumerate(texts, start=1)]
    (row,) = rows_of(results)
    assert row.data == "trees; a_model, several seeds, 5 updates"
    longer = result(data="trees; a_model, seed 3, 6 updates", seed=3)
    (row,) = rows_of([*results, longer])
    assert row.data == "trees; a_model, several seeds"
    assert rows_of(results[:1])[0].data == texts[0]


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
