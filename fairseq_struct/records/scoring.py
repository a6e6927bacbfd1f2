"""What the scoring scripts of recipes share: options, the line they print, the record they keep.

A script measures; :func:`publish` prints the numbers beside the paper's and appends the record.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_struct.records.paper_values import paper_values
from fairseq_struct.records.results import SCALES, Result, append_result, device_name
from fairseq_struct.records.rows import in_words, rows_of
from fairseq_struct.records.training_log import TrainingLog, read_log


def scoring_options(description: str | None, *further_scales: str) -> argparse.ArgumentParser:
    """A parser with the options that ``recipes/common.sh`` gives to every scoring script.

    Args:
        description: what the script does.
        further_scales: words for a scale that the script finds out.
    """
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--experiment", required=True, help="name of the experiment")
    add("--variant", help="row of its table")
    add("--scale", choices=(*SCALES, *further_scales), required=True, help="size of the runs")
    add("--data", default="", help="what the numbers are of, in words")
    add("--run", type=Path, help="folder with train.log and checkpoints")
    add("--command", required=True, help="what has made the runs")
    add("--results", type=Path, help="file to append the record to")
    return parser


def log_of(run: Path) -> TrainingLog:
    """The log of a training that came to its end.

    Raises:
        InputError: there is none, or it did not end.
    """
    return read_log(run / "train.log")


def seed_of(run: Path) -> int:
    """The seed of a run, by the name of its folder, ``seed_1``."""
    return int(run.name.removeprefix("seed_"))


def publish(
    args: argparse.Namespace, runs: Sequence[Mapping], *, folder: str | Path, paper: bool = True,
    **common,
) -> None:  # fmt: skip
    """Print the numbers of one variant in a line, and append a record for each run.

    Args:
        args: of :func:`scoring_options`.
        runs: fields of :class:`~fairseq_struct.records.results.Result` for each run, of which they
            are mean and deviation in print.
        folder: of the recipe, with the paper's tables.
        paper: are the paper's numbers of the same data?
        common: fields that all runs share, in place of what ``args`` says.

    Raises:
        InputError: the file holds something else than records.
    """
    shared = {name: getattr(args, name) for name in
              ("experiment", "variant", "scale", "data", "command")}  # fmt: skip
    shared |= {"device": device_name(), **common}
    shared.setdefault(
        "paper", paper_values(folder, shared["experiment"], shared["variant"]) if paper else {}
    )
    results = [Result(**{**shared, **run}) for run in runs]
    for result in results:
        if args.results:
            append_result(args.results, result)
    for row in rows_of(results):
        print(in_words(row), flush=True)
