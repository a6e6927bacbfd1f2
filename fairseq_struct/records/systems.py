"""The table of systems on the first page: what each does, and its number beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.lists import read_list
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
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return read_list(path, System)


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
