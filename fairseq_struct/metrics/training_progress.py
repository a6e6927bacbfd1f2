"""How far a fairseq-train has come, from what it logs with ``--log-format json``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
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
    lines: Iterable[str], updates: int, shown: Sequence[str] = ("loss",), file: TextIO | None = None
) -> None:
    """Read a log to its end and show how far the training has come.

    On a terminal that is a bar with the time left; elsewhere a line for each tenth of the updates.

    Args:
        lines: of the log, as they come.
        updates: at which the training ends.
        shown: names of the numbers to show, those of a validated split with its name before them,
            as in ``valid_bleu``.
        file: where to (standard error).
    """
    file = file or sys.stderr
    latest: dict[str, float] = {}
    with tqdm(total=updates, desc="training", unit="update", file=file,
              disable=not file.isatty(), dynamic_ncols=True) as bar:  # fmt: skip
        tenths = 0
        for entry in logged(lines):
            prefix = "" if entry.split.startswith("train") else f"{entry.split}_"
            named = {f"{prefix}{name}": value for name, value in entry.values.items()}
            latest |= {name: named[name] for name in shown if name in named}
            if not bar.disable:
                bar.set_postfix(latest, refresh=False)
                bar.update(entry.update - bar.n)
            elif 10 * entry.update // updates > tenths:
                tenths = 10 * entry.update // updates
                numbers = "".join(f", {name} {value:g}" for name, value in latest.items())
                print(f"  update {entry.update} of {updates}{numbers}", file=file, flush=True)
