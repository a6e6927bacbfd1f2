"""The papers' numbers, read from files ``table_NUMBER.tsv`` beside the recipes."""

from __future__ import annotations

import csv
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text


def paper_values(folder: str | Path, experiment: str, variant: str) -> dict[str, float]:
    """The paper's values for one variant of an experiment.

    Args:
        folder: folder of a system's recipes. Its tables have a column ``variant`` and columns
            ``EXPERIMENT METRIC``; a cell may be empty.
        experiment, variant: as in records.

    Returns:
        Values by metric; empty if the paper has no such row.

    Raises:
        InputError: a line of a table has no variant, or a cell is no number.
    """
    return _rows(folder, experiment).get(variant, {})


def published_only(folder: str | Path, experiment: str) -> dict[str, dict[str, float]]:
    """The paper's rows that no recipe makes, by variant; their names begin with * in the tables.

    Args:
        folder, experiment: as for :func:`paper_values`.
    """
    rows = _rows(folder, experiment).items()
    return {name[1:]: values for name, values in rows if name.startswith("*") and values}


def _rows(folder: str | Path, experiment: str) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for path in sorted(Path(folder).glob("table_*.tsv")):
        lines = csv.DictReader(read_text(path).splitlines(), delimiter="\t")
        for row in lines:
            try:
                values = rows.setdefault(row["variant"], {})
                for column, value in row.items():
                    of, _, metric = column.partition(" ")
                    if of == experiment and value:
                        values[metric] = float(value)
            except (AttributeError, KeyError, ValueError) as error:
                raise InputError(
                    f"{path}:{lines.line_num}: no row of a variant with numbers ({error})"
                ) from None
    return rows
