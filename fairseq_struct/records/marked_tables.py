"""Marked tables in Markdown files; the markers allow writing the tables again from records.

A table stands between ``<!-- results: SYSTEM/EXPERIMENT -->`` and ``<!-- end of results -->``.
``<!-- results: index -->`` marks the index of all experiments, ``<!-- results: systems -->`` the
table of systems with a number of each, ``<!-- results: papers -->`` the table of the papers' tables
and figures.
``<!-- results: SYSTEM/not_run -->`` marks the list of a system's experiments without a record,
``<!-- results: SYSTEM/EXPERIMENT/best/METRIC/… -->`` a table of the best of several seeds.
"""

from __future__ import annotations

import re
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.records.best_seeds import best_table
from fairseq_struct.records.experiments import index, known_experiments, list_of_not_run
from fairseq_struct.records.paper_items import papers_table
from fairseq_struct.records.paper_values import published_only
from fairseq_struct.records.results import results_of
from fairseq_struct.records.systems import systems_table
from fairseq_struct.records.tables import markdown_table

MARKED = re.compile(
    r"(?P<start><!-- results: (?P<name>[\w/.-]+) -->\n).*?(?P<end><!-- end of results -->)",
    re.DOTALL,
)
_START = re.compile(r"^<!-- results: [\w/.-]+ -->$", re.MULTILINE)


def fill_tables(text: str, recipes: str | Path) -> str:
    """Write every marked table of a Markdown text again from the records.

    Args:
        text: the Markdown.
        recipes: folder that holds ``SYSTEM/results.jsonl``.

    Returns:
        The text with its tables written again.

    Raises:
        InputError: a marker names a system that does not exist, or has no end.
    """

    def renew(match: re.Match) -> str:
        further = _START.findall(match[0])[1:]
        if further:
            raise InputError(f"no end of results before {further[0]}")
        return f"{match['start']}{table_of(match['name'], recipes)}{match['end']}"

    renewed, count = MARKED.subn(renew, text)
    markers = _START.findall(text)
    if len(markers) > count:
        raise InputError(f"no end of results after {markers[-1]}")
    return renewed


def table_of(name: str, recipes: str | Path) -> str:
    """The text between the markers of a name.

    Args:
        name: ``SYSTEM/EXPERIMENT``, ``SYSTEM/EXPERIMENT/best/METRIC/…``, ``SYSTEM/not_run``,
            ``index``, ``systems`` or ``papers``.
        recipes: folder that holds ``SYSTEM/results.jsonl``.

    Raises:
        InputError: there is no such system, or no metric after ``best``.
    """
    if name == "index":
        return index(recipes)
    if name == "systems":
        return systems_table(recipes)
    if name == "papers":
        return papers_table(recipes)
    system, experiment, best, metrics = _parts(name)
    if not experiment or not (Path(recipes) / system).is_dir():
        raise InputError(f"{name}: no such SYSTEM/EXPERIMENT below {recipes}")
    if experiment == "not_run":
        return list_of_not_run(system, recipes)
    results = results_of(system, experiment, recipes)
    if not results:
        return "No run recorded yet.\n"
    if best and not (best == "best" and metrics):
        raise InputError(f"{name}: after SYSTEM/EXPERIMENT comes best/METRIC or nothing")
    folder = Path(recipes) / system
    if best:
        return best_table(results, metrics, folder)
    return markdown_table(results, published_only(folder, experiment))


def known_table_of(name: str, recipes: str | Path) -> str:
    """As :func:`table_of`, but refuses an experiment that is neither recorded nor in the list.

    Raises:
        InputError: there is no such system or experiment.
    """
    system, experiment, *_ = _parts(name)
    if experiment not in ("", "not_run") and not results_of(system, experiment, recipes):
        known = known_experiments(recipes)
        if f"{system}/{experiment}" not in known:
            alike = suggestion(name, known, most=3)
            raise InputError(f"{name}: no such SYSTEM/EXPERIMENT below {recipes}{alike}")
    return table_of(name, recipes)


def _parts(name: str) -> tuple[str, str, str, list[str]]:
    """System, experiment, "best", and metrics; empty where the name is shorter."""
    system, experiment, best, *metrics = [*name.split("/"), "", ""]
    return system, experiment, best, [metric for metric in metrics if metric]


def marked_files(recipes: str | Path) -> list[Path]:
    """The Markdown files that may hold marked tables.

    Args:
        recipes: the recipes; ``README.md`` and ``docs/`` lie beside their folder.
    """
    recipes = Path(recipes)
    single = filter(Path.is_file, [recipes.parent / "README.md", recipes / "README.md"])
    docs = sorted((recipes.parent / "docs").glob("**/*.md"))
    return [*single, *docs, *sorted(recipes.glob("*/RESULTS.md"))]
