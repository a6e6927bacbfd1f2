"""How far a fairseq-train has come, from what it logs with ``--log-format json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from tqdm import tqdm

_LOGGED = re.compile(r"\| (?P<split>[\w-]+) \| (?P<values>\{\"epoch\".*\})\s*$")


@dataclass(frozen=True)
class Logged:
    """One line of numbers.

    Attributes:
        split: ``train_inner`` within an epoch, ``train`` at its end, or a validated split.
        update: number of updates so far.
        values: name to value, without the split's name before it.
    """

    split: str
    update: int
    values: dict[str, float]


def logged(lines: Iterable[str]) -> Iterator[Logged]:
    """The lines of numbers among the lines of a log."""
    for line in lines:
        match = _LOGGED.search(line)
        if not match:
            continue
        split = match["split"]
        prefix = "" if split == "train_inner" else f"{split}_"
        values = {
            name.removeprefix(prefix): float(value)
            for name, value in json.loads(match["values"]).items()
            if value is not None
        }
        if "num_updates" in values:
            yield Logged(split, int(values["num_updates"]), values)


def show_progress(
    lines: Iterable[str], updates: int, shown: tuple[str, ...] = ("loss",), file: TextIO = None
) -> None:
    """Read a log to its end, with a bar of updates, time left and some numbers.

    Args:
        lines: of the log, as they come.
        updates: at which the training ends.
        shown: names of the numbers beside the bar.
        file: where the bar goes (standard error).
    """
    with tqdm(total=updates, desc="training", unit="update", file=file, smoothing=0.1) as bar:
        for entry in logged(lines):
            bar.set_postfix(
                {name: entry.values[name] for name in shown if name in entry.values}, refresh=False
            )
            bar.update(entry.update - bar.n)
