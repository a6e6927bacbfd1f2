"""How far a preparation is: a bar on a terminal, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from fairseq_struct.data.prepared.streams.progress import Progress
from fairseq_struct.records.training_progress import duration

EVERY = 10  # seconds between two lines


class Bar(Progress):
    """A bar on a terminal, which goes away with its stage.

    Args:
        file: the terminal.
    """

    def __init__(self, file: TextIO):
        self._file, self._bar = file, None

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            desc=name, total=total, initial=done, file=self._file, unit=" lines", unit_scale=True,
            leave=False, dynamic_ncols=True,
        )  # fmt: skip

    def advance(self, lines: int) -> None:
        if self._bar is not None:
            self._bar.update(lines)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class Lines(Progress):
    """A line every few seconds, and at the end of each stage.

    Args:
        file: where to write.
        clock: tells the seconds.
    """

    def __init__(self, file: TextIO, clock: Callable[[], float] = time.monotonic):
        self._file, self._clock = file, clock
        self._name: str | None = None

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        self._name, self._total, self._before, self._done = name, total, done, done
        self._began = self._told = self._clock()

    def advance(self, lines: int) -> None:
        self._done += lines
        if self._name is not None and self._clock() - self._told >= EVERY:
            self._tell()

    def end(self) -> None:
        if self._name is not None and self._done > self._before:
            self._tell()
        self._name = None

    def _tell(self) -> None:
        self._told = self._clock()
        # What an earlier run has finished says nothing about the speed of this one.
        speed = (self._done - self._before) / max(self._told - self._began, 1e-9)
        of = "" if self._total is None else f" of {self._total:,}"
        told = f"{self._name}: {self._done:,}{of} lines, {speed:,.0f} lines/s"
        left = 0 if self._total is None else self._total - self._done
        if left > 0 and speed:
            told += f", {duration(left / speed)} left"
        print(told, file=self._file, flush=True)


def progress_on(file: TextIO | None = None, wanted: bool = False) -> Progress:
    """What to show: a bar on a terminal, elsewhere lines if they are wanted, or nothing.

    Args:
        file: by default standard error.
        wanted: whether lines are wanted where there is no terminal.
    """
    file = sys.stderr if file is None else file
    if file is not None and file.isatty():
        return Bar(file)
    return Lines(file) if wanted and file is not None else Progress()
