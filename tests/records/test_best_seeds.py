"""Tables of the best of several seeds."""

import pytest
from toy_records import grid, result

from fairseq_struct.errors import InputError
from fairseq_struct.records.marked_tables import fill_tables, known_table_of
from fairseq_struct.records.results import append_result


@pytest.fixture
def recipes(tmp_path):
    """Recipes with two rows, one of them of three seeds, and a table of the paper."""
    folder = tmp_path / "toys"
    folder.mkdir()
    (folder / "table_1.tsv").write_text(
        "variant\ttoy f1\ttoy f1_best\ttoy recall_best\na\t50\t60\t\n*Theirs (2019)\t\t70\t80\n"
        "*Nobody's (2018)\t40\t\t\n"
    )
    for seed, f1 in ((1, 41.5), (2, 43.25), (3, 42)):
        metrics = {"f1": f1, **({"recall": 7} if seed == 1 else {})}
        append_result(folder / "results.jsonl", result("a", metrics=metrics, seed=seed))
    append_result(folder / "results.jsonl", result("b", metrics={"f1": 99}))
    return tmp_path


def test_the_best_of_seeds_stands_beside_the_papers_best(recipes):
    marked = "<!-- results: toys/toy/best/f1/recall -->\n<!-- end of results -->\n"
    text = fill_tables(marked, recipes)
    assert "The best of the seeds. In brackets: the paper's.\n" in text
    head, _, *rows = grid(text)
    assert head == ["", "f1", "recall", "seeds"]
    ours, theirs = rows
    assert ours == ["`a`", "43.25 (60.00)", "7.00", "3"]
    assert theirs == ["Theirs (2019)", "(70.00)", "(80.00)", ""]
    assert fill_tables(text, recipes) == text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("toys/toy/best/f2", "toy a: no metric f2"),
        ("toys/toy/best", "toys/toy/best: after SYSTEM/EXPERIMENT comes best/METRIC or nothing"),
        ("toys/toy/worst/f1", "toys/toy/worst/f1: after SYSTEM/EXPERIMENT comes best/METRIC"),
        ("toys/joy/best/f1", "toys/joy/best/f1: no such SYSTEM/EXPERIMENT"),
    ],
)
def test_what_has_no_best_is_refused(recipes, name, message):
    with pytest.raises(InputError, match=message):
        known_table_of(name, recipes)


def test_a_table_needs_rows_of_several_seeds(recipes):
    (recipes / "toys" / "results.jsonl").unlink()
    append_result(recipes / "toys" / "results.jsonl", result("b", metrics={"f1": 99}))
    with pytest.raises(InputError, match="toy: no row has several seeds"):
        known_table_of("toys/toy/best/f1", recipes)
