"""Shared code of the recipes' scoring scripts: options, printed line, and record.

A script measures. :func:`publish` prints the numbers beside the paper's and appends the record.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_struct.processor import device_name
from fairseq_struct.records.paper_values import paper_values
from fairseq_struct.records.results import SCALES, Result, append_result
from fairseq_struct.records.rows import in_words, rows_of
from fairseq_struct.records.training_log import LOG, TrainingLog, read_log


def scoring_options(description: str | None, *further_scales: str) -> argparse.ArgumentParser:
    """Make a parser with the options that ``recipes/common.sh`` passes to every scoring script.

    Args:
        description: what the script does.
        further_scales: further values of ``--scale``, for which the script determines the scale.
    """
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--experiment", required=True, help="name of the experiment")
    add("--variant", help="row of the experiment's table")
    add("--scale", choices=(*SCALES, *further_scales), required=True, help="size of the runs")
    add("--data", default="", help="the evaluated data in words")
    add("--run", type=Path, help="folder with train.log and checkpoints")
    add("--command", required=True, help="command that made the runs")
    add("--results", type=Path, help="file to append the record to")
    return parser


def log_of(run: Path) -> TrainingLog:
    """Read the log of a finished training.

    Raises:
        InputError: there is no log, or the training did not end.
    """
    return read_log(run / LOG)


def seed_of(run: Path) -> int:
    """Seed of a run, from the name of its folder, such as ``seed_1``."""
    return int(run.name.removeprefix("seed_"))


def training_of(run: Path) -> dict:
    """Fields of the record of a finished training: seed, updates, minutes, and its device."""
    log = log_of(run)
    found = {"seed": seed_of(run), "updates": log.updates, "minutes": round(log.minutes, 1)}
    return found if log.device is None else {**found, "device": log.device}


def publish(
    args: argparse.Namespace, runs: Sequence[Mapping], *, folder: str | Path, paper: bool = True,
    **common,
) -> None:  # fmt: skip
    """Print the numbers of one variant in a line, and append a record for each run.

    Args:
        args: parsed options of :func:`scoring_options`.
        runs: fields of :class:`~fairseq_struct.records.results.Result` for each run. The printed
            line has their mean and deviation.
        folder: folder of the recipe, with the paper's tables.
        paper: whether the paper's numbers are of the same data.
        common: fields that all runs share; they override those of ``args``.

    Raises:
        InputError: the file holds anything else than records.
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
