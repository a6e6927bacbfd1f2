"""The table of systems on the first page: what each does, and its number beside the paper's."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text
from fairseq_struct.records.experiments import read_experiments

LIST = "systems.tsv"


@dataclass(frozen=True)
class System:
    """A line of ``recipes/systems.tsv``.

    Attributes:
        page: its page in ``docs/systems/``, without ``.md``.
        name: its name.
        does: what it does, in a few words.
        preset: preset or architecture to begin with.
        measured: what the number is of, in words.
        system, experiment: line of ``experiments.tsv`` that has the number.
    """

    page: str
    name: str
    does: str
    preset: str
    measured: str
    system: str
    experiment: str

    def measure(self, recipes: str | Path) -> tuple[str, str]:
        """The number of the experiment, with * if it is of a reduced run, and the paper's.

        Raises:
            InputError: the list of experiments lacks it, or it has no record.
        """
        wanted = self.system, self.experiment
        for one in read_experiments(recipes):
            if (one.system, one.experiment) == wanted and (row := one.row(recipes)) is not None:
                reduced = "" if row.results[0].scale == "paper" else "*"
                return f"{row.ours(one.metric)}{reduced}", row.paper(one.metric) or "-"
        raise InputError(f"{Path(recipes) / LIST}: {'/'.join(wanted)} has no record")


def read_systems(recipes: str | Path) -> list[System]:
    """Read the list of systems, in its order.

    Raises:
        InputError: the file is missing, or a line has too few or too many fields.
    """
    path = Path(recipes) / LIST
    names = [field.name for field in fields(System)]
    lines = list(csv.DictReader(read_text(path).splitlines(), delimiter="\t"))
    for number, line in enumerate(lines, start=2):
        if list(line) != names or None in line.values():
            raise InputError(f"{path}:{number}: must have the fields {', '.join(names)}")
    return [System(**line) for line in lines]


def systems_table(recipes: str | Path) -> str:
    """All systems as Markdown, with links from the folder above the recipes; * marks reduced runs.

    Raises:
        InputError: a system has no record of its metric.
    """
    lines = ["| system | what it does | preset | ours | paper |", "| --- | --- | --- | --: | --: |"]
    for one in read_systems(recipes):
        ours, paper = one.measure(recipes)
        lines.append(
            f"| [{one.name}](docs/systems/{one.page}.md) | {one.does} | `{one.preset}` "
            f"| {one.measured}: {ours} | {paper} |"
        )
    return "\n".join(lines) + "\n"
