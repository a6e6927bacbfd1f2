"""Progress display of fairseq-train, from its log with ``--log-format json``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from tqdm import tqdm

from fairseq_struct.records.training_log import logged

_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


def show_progress(
    lines: Iterable[str], updates: int, shown: Sequence[str] = ("loss",), file: TextIO | None = None
) -> None:
    """Read a log to its end and show the progress of the training.

    A terminal gets a bar with the time left; other output gets a line for each tenth of the
    updates.

    Args:
        lines: lines of the log, as they arrive.
        updates: number of updates at which the training ends.
        shown: names of the numbers to show; numbers of a validated split have its name as prefix,
            as in ``valid_bleu``.
        file: file to write to (default: standard error).
    """
    file = file or sys.stderr
    show = _bar if file.isatty() else _lines
    show(_numbers(lines, shown), updates, file)


def _numbers(lines: Iterable[str], shown: Sequence[str]):
    """Update and latest numbers to show, for each line that contains its update."""
    latest: dict[str, float] = {}
    told_within = False
    for entry in logged(lines):
        prefix = "" if entry.split.startswith("train") else f"{entry.split}_"
        # The averages of a whole epoch are older than the numbers logged within it.
        if not (entry.split == "train" and told_within):
            latest |= {f"{prefix}{name}": value for name, value in entry.values.items()}
        if not prefix:
            told_within = entry.split == "train_inner"
        if entry.update is not None:
            yield entry.update, {name: latest[name] for name in shown if name in latest}


def _bar(numbers, updates: int, file: TextIO) -> None:
    # Without sizes tqdm shows nothing on a terminal that does not report its size.
    size = shutil.get_terminal_size()
    with tqdm(total=updates, desc="training", file=file, mininterval=0, miniters=1,
              ncols=size.columns - 1, nrows=size.lines, bar_format=_BAR) as bar:  # fmt: skip
        begun = False
        for update, latest in numbers:
            bar.set_postfix(latest, refresh=False)
            if begun:
                bar.update(update - bar.n)
            else:  # the time left counts from here: after the imports, or from a checkpoint
                bar.reset()
                bar.initial = bar.n = bar.last_print_n = update
                bar.refresh()
                begun = True


def _lines(numbers, updates: int, file: TextIO) -> None:
    tenths = 0
    for update, latest in numbers:
        if 10 * update // updates > tenths:
            tenths = 10 * update // updates
            told = "".join(f", {name} {value:g}" for name, value in latest.items())
            print(f"  update {update} of {updates}{told}", file=file, flush=True)
