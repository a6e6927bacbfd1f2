"""Draw learning curves from training logs: mean and range over seeds (Shen's thesis, chapter 5).

A ``return`` is that of the episodes that ended in an epoch of training, against the steps of the
environment; other metrics are those of the validation part, against updates. With ``--returns`` one
more panel has the returns at the end of training by the number of options, from records.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.pages.curves.learning_curves import Panel, Run, write_learning_curves
from fairseq_struct.records.curves import curve_of, read_entries
from fairseq_struct.records.results import read_results
from fairseq_struct.records.rows import rows_by_variant

LABELS = {
    "return": "return",
    "nmi": "NMI (%)",
    "f1_tolerance_1": "F1, tolerance 1 (%)",
    "alignment": "alignment (%)",
    "action_accuracy": "action accuracy (%)",
}
RETURN = "return"


def panels_of(curves: list[list[str]]) -> list[Panel]:
    """Panels of curves, each given as its panel's title, metric, name, and folder of its runs.

    Raises:
        InputError: a folder has no run, or a log has no such metric.
    """
    found: dict[tuple[str, str], dict[str, list[Run]]] = {}
    for title, metric, name, folder in curves:
        logs = sorted(Path(folder).glob("seed_*/train.log"))
        if not logs:
            raise InputError(f"{folder}: no runs")
        split, x = ("train", "environment_steps") if metric == RETURN else ("valid", "updates")
        runs = [curve_of(log, read_entries(log), split, metric, x) for log in logs]
        found.setdefault((title, metric), {})[name] = runs
    return [
        Panel(title, "steps of the environment" if metric == RETURN else "updates",
              LABELS[metric], lines)
        for (title, metric), lines in found.items()
    ]  # fmt: skip


def returns_by_options(records: Path, experiment: str) -> list[Panel]:
    """A panel of the returns of variants k2, k3, …; none if no seed has all of them.

    Raises:
        InputError: the records cannot be read, or those of a variant have several settings.
    """
    found: dict[int, dict[int, float]] = defaultdict(dict)
    results = (one for one in read_results(records) if one.experiment == experiment)
    for variant, row in rows_by_variant(results).items():
        if options := re.fullmatch(r"k(\d+)", variant):
            for result in row.results:
                if RETURN in result.metrics:
                    found[result.seed][int(options[1])] = result.metrics[RETURN]
    every = sorted({count for row in found.values() for count in row})
    runs = [
        (every, [row[count] for count in every]) for row in found.values() if len(row) == len(every)
    ]
    return [Panel("at the end", "options", LABELS[RETURN], {"ocn": runs})] if runs else []


def draw(figure: Path, panels: list[Panel], title: str):
    """Write the figure.

    Raises:
        InputError: the seeds of a curve have nothing in common.
    """
    with whole_file(figure) as file:
        try:
            write_learning_curves(file, panels, title)
        except ValueError as error:
            raise InputError(f"{figure}: {error}") from None


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figure", type=Path, help="PNG to write")
    parser.add_argument("--title", default="", help="above all panels")
    parser.add_argument(
        "--curve", nargs=4, action="append", required=True,
        metavar=("TITLE", "METRIC", "NAME", "FOLDER"),
        help="a curve: title of its panel; metric; name; folder of the runs, one for each seed",
    )  # fmt: skip
    parser.add_argument(
        "--returns", nargs=2, metavar=("RECORDS", "EXPERIMENT"),
        help="results.jsonl, and the experiment with variants by number of options",
    )  # fmt: skip
    args = parser.parse_args()
    for _, metric, _, _ in args.curve:
        if metric not in LABELS:
            raise InputError(f"unknown metric {metric!r}; choose one of: {', '.join(LABELS)}")
    panels = panels_of(args.curve)
    if args.returns:
        panels += returns_by_options(Path(args.returns[0]), args.returns[1])
    draw(args.figure, panels, args.title)
    print(args.figure)


if __name__ == "__main__":
    main()
