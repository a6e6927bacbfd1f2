"""Progress display of fairseq-train, from its log with ``--log-format json``."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from tqdm import tqdm

from fairseq_struct.records.training_log import Logged, logged

_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_ENDLESS = "{desc}: {n_fmt} updates [{elapsed}{postfix}]"


@dataclass
class LoggedProgress:
    """What a log has told so far.

    Attributes:
        updates: at which the training ends; None: unknown.
        epochs: at which the training ends; None: unknown.
        update: number of updates so far; None before the first logged one.
        latest: the latest numbers by name; those of a validated split have its name as prefix.
        epoch_updates: updates of an epoch; None: unknown.
        seconds: since this training began, or went on, validation included; None: unknown.
        begin: update and number of epochs from which both are counted on to learn how many updates
            an epoch has: earlier ones may have been of other sizes, or of other epochs. None: those
            of the first logged line.
    """

    updates: int | None = None
    epochs: int | None = None
    update: int | None = None
    latest: dict[str, float] = field(default_factory=dict)
    epoch_updates: int | None = None
    seconds: float | None = None
    begin: tuple[int, float] | None = (0, 0.0)
    _told_within: bool = False

    @property
    def total(self) -> int | None:
        """The update at which the training ends, as far as it is known."""
        ends = [] if self.updates is None else [self.updates]
        if self.epochs is not None and self.epoch_updates is not None and self.begin is not None:
            update, epochs = self.begin
            end = update + round((self.epochs - epochs) * self.epoch_updates)
            ends.append(max(end, self.update or 0))  # logged epochs are rounded
        return min(ends, default=None)

    def add(self, entry: Logged) -> None:
        """Take in a line of the log."""
        prefix = "" if entry.split.startswith("train") else f"{entry.split}_"
        # The averages of a whole epoch are older than the numbers logged within it.
        if not (entry.split == "train" and self._told_within):
            self.latest |= {f"{prefix}{name}": value for name, value in entry.values.items()}
        if not prefix:
            self._told_within = entry.split == "train_inner"
        if entry.update is not None:
            self.update = entry.update
        # Not train_wall: within an epoch that is the time since the last logged line.
        self.seconds = entry.values.get("wall", self.seconds)
        if entry.split == "train_inner" and entry.values.get("update"):
            # fairseq logs the update in epochs, rounded to three digits.
            update, epochs = self.begin = self.begin or (self.update, entry.values["update"])
            if entry.values["update"] > epochs:
                passed = entry.values["update"] - epochs
                self.epoch_updates = max(1, round((self.update - update) / passed))


def show_progress(
    lines: Iterable[str],
    updates: int | None = None,
    shown: Sequence[str] = ("loss",),
    file: TextIO | None = None,
    *,
    epochs: int | None = None,
    validation: Sequence[str] = (),
    progress: LoggedProgress | None = None,
) -> LoggedProgress:
    """Read a log to its end and show the progress of the training.

    A terminal gets a bar with the time left; other output gets a line for each tenth of the
    updates.

    Args:
        lines: lines of the log, as they arrive.
        updates: number of updates at which the training ends.
        shown: names of the numbers to show; numbers of a validated split have its name as prefix,
            as in ``valid_bleu``.
        file: file to write to (default: standard error).
        epochs: number of epochs at which the training ends.
        validation: names of the numbers of a validation. If given, each validation gets a line, and
            so does, after the first updates, the time of an epoch.
        progress: filled while reading (default: a new one).

    Returns:
        What the log has told.
    """
    file = file or sys.stderr
    progress = progress or LoggedProgress()
    progress.updates, progress.epochs = updates, epochs
    with (_Bar if file.isatty() else _Lines)(file, progress.total) as display:
        for entry in logged(lines):
            known = progress.epoch_updates
            progress.add(entry)
            if validation and known is None and (told := _epoch_time(progress)):
                display.say(told)
            if validation and not entry.split.startswith("train"):
                display.say(_validation(entry, validation))
            if entry.update is not None:
                numbers = {n: progress.latest[n] for n in shown if n in progress.latest}
                display.show(progress.update, progress.total, numbers)
    return progress


def duration(seconds: float) -> str:
    """A time in words: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 99.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _epoch_time(progress: LoggedProgress) -> str | None:
    speed = progress.latest.get("ups")  # updates per second
    if not speed or progress.epoch_updates is None:
        return None
    told = f"an epoch has {progress.epoch_updates} updates: about "
    told += duration(progress.epoch_updates / speed)
    if progress.total is not None and progress.total > progress.update:
        left = (progress.total - progress.update) / speed
        told += f"; {progress.total - progress.update} updates are left: about {duration(left)}"
    return f"{told}, and validation"


def _validation(entry: Logged, names: Sequence[str]) -> str:
    """The line of a validation."""
    wanted = [*names, *(name for name in entry.values if name.startswith("best_"))]
    told = ", ".join(
        f"{name.replace('_', ' ') if name.startswith('best_') else name} {entry.values[name]:.4g}"
        for name in dict.fromkeys(wanted)
        if math.isfinite(entry.values.get(name, math.nan))
    )
    where = [f"epoch {entry.values['epoch']:g}"] if "epoch" in entry.values else []
    where += [] if entry.update is None else [f"update {entry.update}"]
    return f"{', '.join(where)}: {entry.split} {told}"


class _Bar:
    """A bar in a terminal."""

    def __init__(self, file: TextIO, total: int | None):
        # Without sizes tqdm shows nothing on a terminal that does not report its size.
        size = shutil.get_terminal_size()
        self.bar = tqdm(total=total, desc="training", file=file, mininterval=0, miniters=1,
                        ncols=size.columns - 1, nrows=size.lines,
                        bar_format=_BAR if total else _ENDLESS)  # fmt: skip
        self.begun = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bar.close()

    def show(self, update: int, total: int | None, latest: dict[str, float]) -> None:
        """Show a number of updates and further numbers."""
        if total != self.bar.total:
            self.bar.total = total
            self.bar.bar_format = _BAR if total else _ENDLESS
        self.bar.set_postfix(latest, refresh=False)
        if self.begun:
            self.bar.update(update - self.bar.n)
        else:  # the time left counts from here: after the imports, or from a checkpoint
            self.bar.reset()
            self.bar.initial = self.bar.n = self.bar.last_print_n = update
            self.bar.refresh()
            self.begun = True

    def say(self, text: str) -> None:
        """Write a line above the bar."""
        self.bar.clear()
        print(text, file=self.bar.fp, flush=True)
        self.bar.refresh()


class _Lines:
    """Lines in a file or a pipe."""

    def __init__(self, file: TextIO, total: int | None):
        self.file, self.tenths = file, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def show(self, update: int, total: int | None, latest: dict[str, float]) -> None:
        """Write a line for each tenth of the updates."""
        if total and 10 * update // total > self.tenths:
            self.tenths = 10 * update // total
            told = "".join(f", {name} {value:g}" for name, value in latest.items())
            self.say(f"  update {update} of {total}{told}")

    def say(self, text: str) -> None:
        """Write a line."""
        print(text, file=self.file, flush=True)
