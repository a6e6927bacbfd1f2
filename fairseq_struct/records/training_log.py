"""Reader of the log that fairseq-train writes with ``--log-format json``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import reading

LOG = "train.log"  # its name in the folder of a run
# If a kill cut a line off and the resumed run continued it, this matches the second part.
_NUMBERS = re.compile(r"^.*\| (?P<split>[\w-]+) \| (?P<values>\{\"epoch\".*\})\s*$")
_DEVICE = re.compile(r"\| device: (.*\S)")


@dataclass(frozen=True)
class Logged:
    """One line of numbers in a log.

    Attributes:
        split: ``train_inner`` within an epoch, ``train`` at its end, or a validated split.
        values: name to value; names lack the prefix with the split's name.
    """

    split: str
    values: dict[str, float]

    @property
    def update(self) -> int | None:
        """Number of updates so far; None if the line does not contain it."""
        number = self.values.get("num_updates")
        return None if number is None else int(number)


def logged(lines: Iterable[str]) -> Iterator[Logged]:
    """Parse the lines of numbers in a log; other lines are skipped."""
    for match in filter(None, map(_NUMBERS.match, lines)):
        try:
            values = {name: float(value) for name, value in json.loads(match["values"]).items()
                      if value is not None}  # fmt: skip
        except (ValueError, TypeError):
            continue
        prefix = f"{match['split']}_"
        yield Logged(
            match["split"], {name.removeprefix(prefix): value for name, value in values.items()}
        )


@dataclass(frozen=True)
class TrainingLog:
    """Values of a finished training.

    Attributes:
        splits: values by split, epoch and name; the training split is ``train``.
        device: what the training, or its last part, ran on; older logs do not tell it.
    """

    splits: dict[str, dict[int, dict[str, float]]]
    device: str | None = None

    def values(self, split: str, epoch: int) -> dict[str, float]:
        """All metrics of a split after an epoch.

        Raises:
            InputError: the split was not validated then.
        """
        try:
            return self.splits[split][epoch]
        except KeyError:
            raise InputError(f"the log has no values of {split} after epoch {epoch}") from None

    def value(self, split: str, epoch: int, name: str) -> float:
        """A metric of a split after an epoch.

        Raises:
            InputError: the metric was not logged.
        """
        try:
            return self.splits[split][epoch][name]
        except KeyError:
            raise InputError(f"the log has no {name} of {split} after epoch {epoch}") from None

    def best_epoch(self, split: str, name: str, highest: bool = False) -> int:
        """The epoch with the lowest or ``highest`` value of a metric.

        If several epochs have this value, the last one counts: fairseq keeps its checkpoint as the
        best.

        Raises:
            InputError: the metric was not logged.
        """
        epochs = self.splits.get(split)
        if not epochs:
            raise InputError(f"the log has no values of {split}")
        sign = -1 if highest else 1
        return min(epochs, key=lambda epoch: (sign * self.value(split, epoch, name), -epoch))

    @property
    def updates(self) -> int:
        """Number of training updates."""
        return int(max(values["num_updates"] for values in self.splits["train"].values()))

    @property
    def minutes(self) -> float:
        """Training time in minutes, without validation."""
        return sum(seconds_of_epochs(self.splits["train"]).values()) / 60


def seconds_of_epochs(epochs: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
    """Seconds of training of each epoch, in their order, without validation.

    fairseq rounds them to whole seconds. Within these, they are an epoch's number of updates over
    its updates per second, where both are known; alone, these would count validation, too.

    Args:
        epochs: values of the training split after each epoch; those without a time are left out.
    """
    # Of the first epoch of a log that begins later, the number of updates is unknown.
    ends = {0: 0.0} | {
        epoch: values["num_updates"] for epoch, values in epochs.items() if "num_updates" in values
    }
    found = {}
    for epoch, values in sorted(epochs.items()):
        if "train_wall" in values:
            found[epoch] = rounded = values["train_wall"]
            updates = ends.get(epoch, 0.0) - ends.get(epoch - 1, math.inf)
            per_second = values.get("ups", 0.0)  # 0 for an epoch of a few updates
            if updates > 0 and per_second > 0:
                found[epoch] = min(max(updates / per_second, rounded - 0.5), rounded + 0.5)
    return found


def read_log(path: str | Path) -> TrainingLog:
    """Read the log of a training; it may span several calls if the training was resumed.

    Raises:
        InputError: the file does not exist, or the training did not end.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such run; train it first")
    with reading(path):
        text = path.read_text(errors="replace")
    splits: dict[str, dict[int, dict[str, float]]] = {}
    for entry in logged(text.splitlines()):
        if entry.split != "train_inner":
            splits.setdefault(entry.split, {})[int(entry.values["epoch"])] = entry.values
    before, ended, after = text.rpartition("done training in")
    if not ended or "train" not in splits or any(logged(after.splitlines())):
        raise InputError(f"{path}: the training is not finished")
    devices = _DEVICE.findall(text)
    return TrainingLog(splits, devices[-1] if devices else None)
