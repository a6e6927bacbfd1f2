"""What figures show: which records, and their means."""

import pytest
from toy_records import result

from fairseq_struct.errors import InputError
from fairseq_struct.records.figures import draw_means, mean_and_deviation, rows_of_figure
from fairseq_struct.records.results import append_result


def write(path, *records):
    for record in records:
        append_result(path, record)
    return path


def test_the_rows_of_the_last_record_alone(tmp_path):
    runs = [result(), result(updates=20), result("b", updates=20), result("b", seed=2, updates=20)]
    records = write(tmp_path / "results.jsonl", *runs)
    found = rows_of_figure(records, "toy", last_alone=True)
    assert {name: row.results for name, row in found.items()} == {
        "top_k": (runs[1],), "b": (runs[2], runs[3])
    }  # fmt: skip
    with pytest.raises(InputError, match="toy top_k: its records differ in their updates"):
        rows_of_figure(records, "toy")
    with pytest.raises(InputError, match="no record of another"):
        rows_of_figure(records, "another")


@pytest.mark.parametrize("last_alone", [True, False])
def test_records_of_several_settings_are_never_mixed(tmp_path, last_alone):
    other = result(seed=2, command="HIDDEN=4 recipes/toy.sh top_k DATA")
    records = write(tmp_path / "results.jsonl", result(), other)
    with pytest.raises(InputError, match="toy top_k: its records differ in their .* settings"):
        rows_of_figure(records, "toy", last_alone)


class Axes:
    """Keeps what is drawn."""

    def errorbar(self, *values, label, **style):
        self.drawn = (*map(list, values), label)


def test_means_are_drawn_in_order_with_deviations():
    axes = Axes()
    draw_means(axes, {8: [1.0, 3.0], 2: [5.0]}, "a model")
    assert axes.drawn == ([2, 8], [5.0, 2.0], [0.0, pytest.approx(2**0.5)], "a model")
    assert mean_and_deviation([4.0]) == (4.0, 0.0)
