"""Tables of the best of several seeds, which papers report beside mean and deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.records.paper_values import paper_values, published_only
from fairseq_struct.records.results import Result
from fairseq_struct.records.rows import Row, rows_of

BEST = "_best"  # suffix of a metric in the papers' tables: its best of several runs


def best_table(results: Sequence[Result], metrics: Sequence[str], folder: str | Path) -> str:
    """Make the table of the highest values of metrics, for rows of more than one seed.

    Args:
        results: records of one experiment.
        metrics: names of metrics of which more is better.
        folder: folder of the recipes, with the paper's tables; ``METRIC_best`` is the paper's best.

    Returns:
        Lines of Markdown.

    Raises:
        InputError: no row has several seeds, or no seed of such a row has one of the metrics.
    """
    experiment, lines = results[0].experiment, []
    for row in rows_of(results):
        if len(row.seeds) > 1:
            theirs = paper_values(folder, experiment, row.variant)
            cells = [_best(row, name) + _in_brackets(theirs, name) for name in metrics]
            lines.append([f"`{row.variant}`", *cells, str(len(row.seeds))])
    if not lines:
        raise InputError(f"{experiment}: no row has several seeds")
    for name, theirs in published_only(folder, experiment).items():
        cells = [_in_brackets(theirs, metric).strip() for metric in metrics]
        if any(cells):
            lines.append([name, *cells, ""])
    told = "The best of the seeds."
    if any("(" in cell for line in lines for cell in line[1:]):
        told += " In brackets: the paper's."
    head = ["", *metrics, "seeds"]
    rule = ["---", *["--:"] * (len(head) - 1)]
    table = ["| " + " | ".join(line) + " |" for line in (head, rule, *lines)]
    return "\n".join([told, "", *table]) + "\n"


def _best(row: Row, name: str) -> str:
    """The highest value of a metric over the seeds of a row."""
    found = [item.metrics[name] for item in row.results if name in item.metrics]
    if not found:
        raise InputError(f"{row.results[0].experiment} {row.variant}: no metric {name}")
    return f"{max(found):.2f}"


def _in_brackets(theirs: Mapping[str, float], name: str) -> str:
    """The paper's best of a metric, after a space; nothing if it gives none."""
    return f" ({theirs[name + BEST]:.2f})" if name + BEST in theirs else ""
