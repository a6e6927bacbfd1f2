"""The papers' numbers, read from files ``table_NUMBER.tsv`` beside the recipes."""

from __future__ import annotations

import csv
from pathlib import Path

from fairseq_struct.files.text_files import read_text


def paper_values(folder: str | Path, experiment: str, variant: str) -> dict[str, float]:
    """The paper's values for one variant of an experiment.

    Args:
        folder: folder of a system's recipes. Its tables have a column ``variant`` and columns
            ``EXPERIMENT METRIC``; a cell may be empty.
        experiment, variant: as in records.

    Returns:
        Values by metric; empty if the paper has no such row.
    """
    values = {}
    for path in sorted(Path(folder).glob("table_*.tsv")):
        for row in csv.DictReader(read_text(path).splitlines(), delimiter="\t"):
            if row["variant"] == variant:
                for column, value in row.items():
                    of, _, metric = column.partition(" ")
                    if of == experiment and value:
                        values[metric] = float(value)
    return values
