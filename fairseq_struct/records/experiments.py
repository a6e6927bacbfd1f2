"""The experiments of the recipes: their index, and the list of experiments without a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.lists import read_list
from fairseq_struct.records.commands import command_of
from fairseq_struct.records.paper_values import paper_values
from fairseq_struct.records.results import RESULTS, read_results, results_of
from fairseq_struct.records.rows import Row, rows_of

LIST = "experiments.tsv"


@dataclass(frozen=True)
class Experiment:
    """A line of ``recipes/experiments.tsv``.

    Attributes:
        system: folder of the recipe.
        experiment: name of the experiment, as in records.
        data: the data in a few words.
        variant: variant that represents the experiment in the index.
        metric: metric of this variant that the index shows.
        command: command that runs it, within the folder ``recipes``; if there is a record, the
            index shows the record's command instead.
    """

    system: str
    experiment: str
    data: str
    variant: str
    metric: str
    command: str

    def row(self, recipes: str | Path) -> Row | None:
        """Last recorded row of :attr:`variant`; None if it has no record.

        Raises:
            InputError: there are records of it, but none has the metric.
        """
        rows = [row for row in self._rows(recipes) if row.variant == self.variant]
        if rows and not rows[-1].ours(self.metric):
            raise InputError(
                f"{Path(recipes) / LIST}: {self.system}/{self.experiment} has no record of "
                f"{self.metric} of {self.variant}"
            )
        return rows[-1] if rows else None

    def has_others(self, recipes: str | Path) -> bool:
        """Whether variants are recorded, but not :attr:`variant`."""
        rows = self._rows(recipes)
        return bool(rows) and all(row.variant != self.variant for row in rows)

    def _rows(self, recipes: str | Path) -> list[Row]:
        return rows_of(results_of(self.system, self.experiment, recipes))

    @property
    def measure(self) -> str:
        """Metric and variant in words."""
        return f"{self.metric} of `{self.variant}`"


def read_experiments(recipes: str | Path) -> list[Experiment]:
    """Read the list of experiments, in its order; empty if the file does not exist.

    Raises:
        InputError: a line has too few or too many fields.
    """
    return read_list(Path(recipes) / LIST, Experiment)


def known_experiments(recipes: str | Path) -> list[str]:
    """SYSTEM/EXPERIMENT of every experiment in the list, and of every record.

    Raises:
        InputError: the list or a file of records is malformed.
    """
    known = [f"{one.system}/{one.experiment}" for one in read_experiments(recipes)]
    for path in sorted(Path(recipes).glob(f"*/{RESULTS}")):
        known += [f"{path.parent.name}/{item.experiment}" for item in read_results(path)]
    return list(dict.fromkeys(known))


def index(recipes: str | Path) -> str:
    """All experiments as Markdown, each with one number; those without a record at the end."""
    lines = ["| system | data | ours | paper | command |", "| --- | --- | --- | --: | --- |"]
    experiments = read_experiments(recipes)
    for one in experiments:
        row = one.row(recipes)
        if row is None:
            continue
        reduced = "" if row.results[0].scale == "paper" else ", reduced"
        lines.append(
            f"| [{one.system}]({one.system}/RESULTS.md) | {one.data} "
            f"| {one.measure}: {row.ours(one.metric)}{reduced} | {row.paper(one.metric)} "
            f"| `{command_of(row.results).replace('recipes/', '')}` |"
        )
    return "\n".join(lines) + "\n\n" + _not_run(experiments, recipes)


def list_of_not_run(system: str, recipes: str | Path) -> str:
    """Experiments of a system that have no record, as a Markdown list."""
    return _not_run((one for one in read_experiments(recipes) if one.system == system), recipes)


def _not_run(experiments: Iterable[Experiment], recipes: str | Path) -> str:
    lines = []
    for one in experiments:
        if one.row(recipes) is None:
            line = f"- {one.data}: `{one.command}`"
            known = paper_values(Path(recipes) / one.system, one.experiment, one.variant)
            if one.metric in known:
                line += f"; the paper's {one.measure}: {known[one.metric]:.2f}"
            if one.has_others(recipes):
                line += f"; only other rows than `{one.variant}` are recorded"
            lines.append(line)
    if not lines:
        return "Every experiment has a record.\n"
    return "No run recorded yet:\n\n" + "\n".join(lines) + "\n"
