"""What figures show of records, and how: one row for each variant, means with their deviations."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import read_results
from fairseq_struct.records.rows import Row, rows_by_variant


def rows_of_figure(records: Path, experiment: str, last_alone: bool = False) -> dict[str, Row]:
    """The row of each variant of an experiment.

    Args:
        records: a ``results.jsonl``.
        experiment: its name.
        last_alone: leave out records of another scale, data or number of updates than the last one.

    Raises:
        InputError: there are no records, they cannot be read, or those of a variant have several
            settings.
    """
    found = [item for item in read_results(records) if item.experiment == experiment]
    if not found:
        raise InputError(f"{records}: no record of {experiment}")
    if last_alone:
        last = found[-1]
        found = [
            item for item in found
            if (item.scale, item.data, item.updates) == (last.scale, last.data, last.updates)
        ]  # fmt: skip
    return rows_by_variant(found)


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation, which is 0 for a single value."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def draw_means(axes: Any, points: Mapping[float, Sequence[float]], label: str) -> None:
    """Draw the means over seeds as a line; error bars are standard deviations.

    Args:
        axes: of matplotlib.
        points: values of the seeds at each x.
        label: in the legend.
    """
    numbers = sorted(points)
    means, deviations = zip(*(mean_and_deviation(points[n]) for n in numbers), strict=True)
    axes.errorbar(numbers, means, deviations, marker="o", capsize=3, label=label)
