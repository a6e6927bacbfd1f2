"""``fairseq-struct curves``: learning curves and confusion tables from training logs."""

from __future__ import annotations

import argparse
import sys
from io import BytesIO
from math import isfinite
from pathlib import Path

from fairseq_struct.cli.shared.output import require_standard_output
from fairseq_struct.cli.shared.paths import require_ending, require_room
from fairseq_struct.errors import InputError
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.pages.writing import FORMATS, write_pictures
from fairseq_struct.records.curves import (
    AXES,
    by_seeds,
    confusion_of,
    curve_of,
    entries_of_split,
    logs_of,
)

NAME = "curves"
HELP = "draw learning curves of runs, mean and band over seeds, or confusion tables of classifiers"
OF_CURVES = (".html", ".svg", ".png")
METRIC = "loss"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``curves``."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN",
        help="a log written with --log-format json --log-file FILE, or a folder with any number of "
        "train.log in and below it",
    )  # fmt: skip
    parser.add_argument(
        "--metric", action="append", metavar="NAME",
        help="metric to draw, a panel for each if given several times; an unknown one lists those "
        f"of the log (default: {METRIC})",
    )  # fmt: skip
    parser.add_argument(
        "--split", default="valid", metavar="NAME",
        help="validated split, or train, or train_inner for all logged updates (default: valid)",
    )  # fmt: skip
    parser.add_argument(
        "--x", choices=AXES, default="updates",
        help="what the x axis counts; minutes of training, without validation (default: updates)",
    )  # fmt: skip
    parser.add_argument(
        "--band", choices=("range", "deviation"), default="range",
        help="around the mean of several seeds: from the least to the most, or one standard "
        "deviation (default: range)",
    )  # fmt: skip
    parser.add_argument(
        "--confusion", action="store_true",
        help="draw a table of true and predicted labels of each run instead, from its last "
        "validation",
    )  # fmt: skip
    parser.add_argument("--title", default="", help="above the picture")
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="write to FILE: a page (.html) or a picture (.svg, .png; tables also .tex) (default: "
        "a page, to standard output)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Draw learning curves, or confusion tables, from the logs of trainings.

    Runs whose folders differ by a part seed_N alone are one line, their mean, with a band. Logs
    that have no number yet are left out, and named; the curve of a training whose loss became NaN
    ends before, and the log is named, too.

    Raises:
        InputError: a run without a log, no log with numbers, a metric that a log does not have or
            that is nowhere finite, or seeds without a common range.
    """
    require_room(args.output)
    if args.output is None:
        require_standard_output()
    require_ending(args.output, "--output", FORMATS if args.confusion else OF_CURVES)
    suffix = ".html" if args.output is None else args.output.suffix.lower()
    if args.confusion and args.metric:
        raise InputError("--metric does not apply to --confusion")
    entries, lacks = entries_of_split(logs_of(args.runs), args.split)
    for reason in lacks:
        print(f"left out: {reason}", file=sys.stderr)
    groups = by_seeds(list(entries))
    content = (_confusion if args.confusion else _curves)(args, suffix, groups, entries)
    if args.output is None:
        print(content.decode(), end="")
        return 0
    with whole_file(args.output) as file:
        file.write(content)
    return 0


def _curves(args: argparse.Namespace, suffix: str, groups: dict, entries: dict) -> bytes:
    """The file with a panel for each metric."""
    metrics = args.metric or [METRIC]
    curves = {metric: _curves_of(args, metric, groups, entries) for metric in metrics}
    from fairseq_struct.pages.curves.learning_curves import (
        Panel,
        learning_curves_svg,
        write_learning_curves,
    )
    from fairseq_struct.pages.html.html_page import html_page

    panels = [Panel("", args.x, f"{metric} ({args.split})", own) for metric, own in curves.items()]
    try:
        if suffix == ".png":
            with BytesIO() as file:
                write_learning_curves(file, panels, args.title, args.band)
                return file.getvalue()
        drawn = learning_curves_svg(panels, "" if suffix == ".html" else args.title, args.band)
    except ValueError as error:
        raise InputError(f"{', '.join(metrics)}: {error}") from None
    if suffix == ".html":
        title = args.title or "Learning curves"
        style = "svg { max-width: 100%; height: auto; }"
        drawn = html_page(title, [drawn], style)
    return drawn.encode()


def _curves_of(args: argparse.Namespace, metric: str, groups: dict, entries: dict) -> dict:
    """The curves of a metric by the name of their runs, each as far as its numbers are finite."""
    found, lacks = {}, []
    for name, logs in groups.items():
        runs = []
        for log in logs:
            x, y = curve_of(log, entries[log], args.split, metric, args.x)
            finite = next((place for place, value in enumerate(y) if not isfinite(value)), len(y))
            if finite < len(y):
                told = f"{log}: {metric} ({args.split}) is {y[finite]:g} at {x[finite]:g} {args.x}"
                lacks.append(f"{told}; its curve ends before" if finite else f"left out: {told}")
            if finite:
                runs.append((x[:finite], y[:finite]))
        if runs:
            found[name] = runs
    if not found:
        raise InputError(lacks[0].removeprefix("left out: "))
    for lack in lacks:
        print(lack, file=sys.stderr)
    return found


def _confusion(args: argparse.Namespace, suffix: str, groups: dict, entries: dict) -> bytes:
    """The file with a table for each run."""
    from fairseq_struct.pages.drawing.rows import Row
    from fairseq_struct.pages.grids.confusion_matrix import LEGEND, confusion_matrix

    rows = []
    for name, logs in groups.items():
        pictures = []
        for log in logs:
            labels, counts, epoch = confusion_of(log, entries[log], args.split)
            seed = f"{log.parent.name}, " if len(logs) > 1 else ""
            pictures.append((f"{seed}epoch {epoch}", confusion_matrix(labels, counts)))
        rows.append(Row(name, pictures))
    title = args.title or f"Labels of {args.split}, true and predicted"
    with BytesIO() as file:
        try:
            write_pictures(file, suffix, rows, title, LEGEND)
        except ValueError as error:
            raise InputError(f"{args.output}: {error}") from None
        return file.getvalue()
