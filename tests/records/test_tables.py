"""Tables made from records: narrow forms, marked places, the index."""

from pathlib import Path

import pytest
from toy_records import grid, result

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.records.experiments import read_experiments
from fairseq_struct.records.marked_tables import fill_tables, marked_files, table_of
from fairseq_struct.records.paper_values import paper_values, published_only
from fairseq_struct.records.results import append_result, read_results, results_of
from fairseq_struct.records.tables import WIDEST, markdown_table

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "recipes"


def test_a_row_for_each_variant_with_the_papers_value_in_brackets():
    table = markdown_table(
        [result("a", paper={"bleu_test": 31.0}), result("b", metrics={"bleu_dev": 7, "other": 1.0})]
    )
    assert table.splitlines()[0] == (
        "toy data. Scaled down from the paper's setting; seed 1; 10 updates. In brackets: the "
        "paper's. a processor, 1 thread. Command: `recipes/toy.sh VARIANT DATA`"
    )
    across = [["", "`a`", "`b`"], ["bleu_dev", "30.50", "7"], ["bleu_test", "29.25 (31.00)", ""]]
    header, rule, *body = grid(table)
    assert [header, *body] == [*across, ["other", "", "1.00"]]
    assert rule == ["---", "--:", "--:"]


def test_a_table_says_which_rows_have_the_papers_setting():
    both = [result("a"), result("b", scale="paper"), result("c", scale="paper")]
    assert "Scaled down from the paper's setting, but for `b`, `c`; seed 1" in markdown_table(both)
    assert "toy data. The paper's setting; seed 1" in markdown_table(both[1:])


def test_rows_of_the_paper_that_are_not_rebuilt_stand_below_ours(tmp_path):
    (tmp_path / "table_1.tsv").write_text(
        "variant\ttoy bleu_test\tother bleu_test\na\t31\t\n*Somebody (2019)\t33\t\n*None\t\t5\n"
    )
    assert published_only(tmp_path, "toy") == {"Somebody (2019)": {"bleu_test": 33.0}}
    assert paper_values(tmp_path, "toy", "a") == {"bleu_test": 31.0}
    table = markdown_table(
        [result("a", minutes=3), result("b", minutes=4)], published_only(tmp_path, "toy")
    )
    assert "In brackets: the paper's" in table
    rows = {row[0]: row[1:] for row in grid(table)}
    assert rows[""] == ["`a`", "`b`", "Somebody (2019)"]
    assert rows["bleu_test"][2] == "(33.00)" and rows["minutes"] == ["3", "4", ""]


def test_what_is_constant_goes_into_the_sentence():
    results = [result("a", minutes=3.2), result("b", minutes=2.9)]
    results = [
        *results, result("c", metrics={"bleu_dev": 30.5, "bleu_test": 1.0}, updates=20, minutes=3)
    ]  # fmt: skip
    sentence, *_ = markdown_table(results).splitlines()
    assert "seed 1; 3 minutes; bleu_dev 30.50." in sentence
    header, _, *body = grid(markdown_table(results))
    assert header == ["", "bleu_test", "updates"]
    assert body == [["`a`", "29.25", "10"], ["`b`", "29.25", "10"], ["`c`", "1.00", "20"]]


@pytest.mark.parametrize(("variants", "metrics"), [(2, 12), (12, 2), (3, 3)])
def test_a_table_takes_the_narrower_form(variants, metrics):
    results = [
        result(f"variant_{v}", metrics={f"metric_{m}_of_many": v + m / 7 for m in range(metrics)})
        for v in range(variants)
    ]
    header, *_ = grid(markdown_table(results))
    assert len(header) == 1 + min(variants, metrics)


def test_quantities_at_several_numbers_have_a_table_each():
    results = [
        result(name, metrics={f"{what}_{n}": n / k for n in (10, 20) for what in ("time", "ratio")})
        for k, name in enumerate(("a_long_name", "another_one", "the_third"), start=1)
    ]
    table = markdown_table(results)
    assert table.count("|  | 10 | 20 |") == 2
    last = table.index("| `the_third` | 3.33 | 6.67 |")
    assert table.index("time:") < last < table.index("ratio:")
    uneven = [result(metrics={"from_1": 1.0, "to_2": 2.0, "to_3": 3.0}), result("b")]
    assert "to:" not in markdown_table(uneven)


def test_a_quantity_has_its_own_table_if_one_would_be_too_wide():
    metrics = {f"accuracy_{n}": float(n) for n in range(7, 13)}
    others = {"f1": 1.0, "deep": 2.0, "sharp": 2.0}
    results = [
        result(f"model_{k}", metrics={name: value + k for name, value in metrics.items()} | others,
               updates=k + 1, minutes=k + 1, seed=seed)
        for k in range(10) for seed in range(1, 3 - k % 2)
    ]  # fmt: skip
    results.append(result("trees", metrics={"f1": 3.0}))
    table = markdown_table(results)
    assert all(len(line) <= WIDEST for line in grid(table))
    assert "\naccuracy:\n" in table and "\nOther scores:\n" in table
    assert ["", "7", "8", "9", "10", "11", "12"] in grid(table)
    assert ["", "f1", "deep", "sharp", "seeds", "updates", "minutes"] in grid(table)
    assert ["`model_3`", "1.00", "2.00", "2.00", "1", "4", "4"] in grid(table)
    assert [line[0] for line in grid(table)].count("`trees`") == 1  # no row without a value
    assert "accuracy:" not in markdown_table(results[:3])
    rows = [result(str(k), metrics=dict.fromkeys("abcdefgh", k), updates=k) for k in range(1, 10)]
    assert {len(line) for line in grid(markdown_table(rows))} == {9, 2}  # updates are apart


def test_many_variants_with_many_metrics_are_in_tables_of_fewer_variants():
    rows = [{f"{what}_score": k + n / 8 for n, what in enumerate("abcdefghijkl")} for k in range(9)]
    rows[0]["only"] = 1.0
    lines = grid(markdown_table([result(f"v{k}", metrics=row) for k, row in enumerate(rows)]))
    assert [len(line) for line in lines if line[0] == ""] == [6, 5]
    assert ["a_score", "5.00", "6.00", "7.00", "8.00"] in lines
    assert [line[0] for line in lines].count("only") == 1  # no line without a value


def test_a_row_for_each_variant_has_at_most_nine_cells():
    metrics = {f"{what}_score": 100.0 for what in "abcdefghi"}
    (header, *_) = grid(markdown_table([result(f"variant_{k}", metrics=metrics) for k in range(8)]))
    assert header == ["", *(f"`variant_{k}`" for k in range(8))]


def test_no_committed_table_is_wide():
    lines = [(path, line) for path in marked_files(RECIPES) for line in grid(path.read_text())]
    assert len(lines) > 100
    for path, line in lines:
        assert len(line) <= WIDEST, (path, line)


def test_report_renews_marked_tables_and_check_notices_stale_ones(tmp_path, capsys):
    (tmp_path / "recipes/system").mkdir(parents=True)
    append_result(tmp_path / "recipes/system/results.jsonl", result())
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results: system/toy -->\nold\n<!-- end of results -->\nafter\n")
    arguments = ["report", str(page), "--recipes", str(tmp_path / "recipes")]
    assert main([*arguments, "--check"]) == 1
    assert "old" in page.read_text()
    assert main(arguments) == 0
    assert page.read_text().startswith("before\n<!--") and page.read_text().endswith("after\n")
    assert "`top_k`" in page.read_text() and "old" not in page.read_text()
    assert main([*arguments, "--check"]) == 0
    whole = page.read_text()
    endless = whole.replace("<!-- end of results -->\n", "") + whole
    page.write_text(endless)
    assert main(arguments) == 2 and page.read_text() == endless
    endless = whole + "<!-- results: system/toy -->\nold\n"
    page.write_text(endless)
    assert main([*arguments, "--check"]) == 2 and page.read_text() == endless
    told = f"{page}: no end of results after <!-- results: system/toy -->"
    assert told in capsys.readouterr().err
    assert main(["report", "--check", "--recipes", str(tmp_path / "nowhere")]) == 2


def test_a_table_without_records_says_so_and_one_of_nothing_is_an_error(tmp_path, capsys):
    (tmp_path / "system").mkdir()
    append_result(tmp_path / "system/results.jsonl", result())
    marked = "<!-- results: {} -->\n<!-- end of results -->"
    assert "No run recorded yet." in fill_tables(marked.format("system/other"), tmp_path)
    with pytest.raises(InputError, match="nowhere/toy: no such SYSTEM/EXPERIMENT"):
        fill_tables(marked.format("nowhere/toy"), tmp_path)
    assert main(["report", "--show", "system/toy", "--recipes", str(tmp_path)]) == 0
    assert "`top_k`" in capsys.readouterr().out


def test_a_misspelt_experiment_is_told_with_the_nearest_names(tmp_path, capsys):
    (tmp_path / "system").mkdir()
    append_result(tmp_path / "system/results.jsonl", result())
    append_result(tmp_path / "system/results.jsonl", result(experiment="tiny_toy"))
    (tmp_path / "experiments.tsv").write_text(
        "system\texperiment\tdata\tvariant\tmetric\tcommand\n"
        "system\ttoys\ttoys\ttop_k\tbleu_test\tsystem/toys.sh VARIANT\n"
    )

    def show(name):
        status = main(["report", "--show", name, "--recipes", str(tmp_path)])
        output = capsys.readouterr()
        return status, output.out or output.err

    for name, nearest in (
        ("system/toyz", "; did you mean 'system/toy' or 'system/toys' or 'system/tiny_toy'?"),
        ("sistem/toy", "; did you mean 'system/toy' or 'system/toys' or 'system/tiny_toy'?"),
        ("system/unlike-all-others", ""),
    ):
        assert show(name) == (
            2, f"error: {name}: no such SYSTEM/EXPERIMENT below {tmp_path}{nearest}\n"
        )  # fmt: skip
    assert show("system/toys") == (0, "No run recorded yet.\n")  # it is in the list
    assert show("system/not_run")[0] == show("index")[0] == 0


def test_report_without_arguments_renews_every_page(tmp_path, monkeypatch):
    (tmp_path / "recipes/system").mkdir(parents=True)
    append_result(tmp_path / "recipes/system/results.jsonl", result())
    pages = [tmp_path / name for name in
             ("README.md", "recipes/README.md", "docs/systems/system.md",
              "recipes/system/RESULTS.md")]  # fmt: skip
    (tmp_path / "docs" / "systems").mkdir(parents=True)
    for page in pages:
        page.write_text("<!-- results: system/toy -->\n<!-- end of results -->\n")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--check"]) == 1
    assert main(["report"]) == 0
    assert all("`top_k`" in page.read_text() for page in pages)
    pages[-1].write_text("<!-- results: system/toy -->\n<!-- end of results -->\n")
    assert main(["report", "--check"]) == 1


def test_the_index_has_a_number_of_each_experiment_and_lists_the_others(tmp_path):
    system = tmp_path / "system"
    system.mkdir()
    (tmp_path / "experiments.tsv").write_text(
        "system\texperiment\tdata\tvariant\tmetric\tcommand\n"
        "system\ttoy\ttoys\ttop_k\tbleu_test\tsystem/toy.sh VARIANT\n"
        "system\tnew\tnews\ttop_k\tbleu_test\tsystem/new.sh VARIANT\n"
    )
    (system / "table_1.tsv").write_text("variant\tnew bleu_test\ntop_k\t12.5\n")
    append_result(system / "results.jsonl", result(paper={"bleu_test": 31.0}))
    index = table_of("index", tmp_path)
    assert grid(index)[2] == [
        "[system](system/RESULTS.md)", "toys", "bleu_test of `top_k`: 29.25, reduced", "31.00",
        "`toy.sh VARIANT DATA`",
    ]  # fmt: skip
    line = "- news: `system/new.sh VARIANT`; the paper's bleu_test of `top_k`: 12.50\n"
    assert index.endswith(f"No run recorded yet:\n\n{line}")
    assert table_of("system/not_run", tmp_path) == f"No run recorded yet:\n\n{line}"
    append_result(system / "results.jsonl", result("another", experiment="new"))
    assert table_of("index", tmp_path) == index.replace(
        line, f"{line[:-1]}; only other rows than `top_k` are recorded\n"
    )
    append_result(system / "results.jsonl", result(experiment="new", metrics={"accuracy": 1.0}))
    with pytest.raises(InputError, match="system/new has no record of bleu_test of top_k"):
        table_of("index", tmp_path)
    (tmp_path / "experiments.tsv").write_text("system\texperiment\na\tb\n")
    with pytest.raises(InputError, match=r"experiments.tsv:2: must have the fields system, exp"):
        table_of("index", tmp_path)


def test_every_page_of_this_repository_agrees_with_its_records(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["report", "--check"]) == 0


def test_every_record_has_a_table_and_every_experiment_a_line_in_the_index():
    listed = read_experiments(RECIPES)
    assert len(listed) == len({(one.system, one.experiment) for one in listed})
    for one in listed:
        assert (RECIPES / one.command.split()[0]).is_file(), one
    for path in RECIPES.glob("*/results.jsonl"):
        system, page = path.parent.name, path.with_name("RESULTS.md").read_text()
        recorded = {item.experiment for item in read_results(path)}
        for experiment in recorded:
            assert f"<!-- results: {system}/{experiment} -->" in page
        known = {one.experiment for one in listed if one.system == system}
        assert system == "benchmarks" or recorded <= known, system
        without = known - {item for item in known if results_of(system, item, RECIPES)}
        assert bool(without) == (f"<!-- results: {system}/not_run -->" in page)
