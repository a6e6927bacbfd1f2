"""What fairseq-train logs with ``--log-format json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import reading

# Of a line that a kill cut off and the next run went on with, the second part.
_NUMBERS = re.compile(r"^.*\| (?P<split>[\w-]+) \| (?P<values>\{\"epoch\".*\})\s*$")


@dataclass(frozen=True)
class Logged:
    """One line of numbers.

    Attributes:
        split: ``train_inner`` within an epoch, ``train`` at its end, or a validated split.
        values: name to value, without the split's name before it.
    """

    split: str
    values: dict[str, float]

    @property
    def update(self) -> int | None:
        """Number of updates so far, where the line tells it."""
        number = self.values.get("num_updates")
        return None if number is None else int(number)


def logged(lines: Iterable[str]) -> Iterator[Logged]:
    """The lines of numbers among the lines of a log; all others are passed over."""
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
    """Values of a training that came to its end.

    Attributes:
        splits: split, then epoch, then name to value; the training split is ``train``.
    """

    splits: dict[str, dict[int, dict[str, float]]]

    def value(self, split: str, epoch: int, name: str) -> float:
        """A metric of a split after an epoch.

        Raises:
            InputError: it was not logged.
        """
        try:
            return self.splits[split][epoch][name]
        except KeyError:
            raise InputError(f"the log has no {name} of {split} after epoch {epoch}") from None

    def best_epoch(self, split: str, name: str, highest: bool = False) -> int:
        """The epoch with the best value of a metric, the lowest or the highest one.

        Of several it is the last one, whose checkpoint fairseq keeps as the best.

        Raises:
            InputError: it was not logged.
        """
        epochs = self.splits.get(split)
        if not epochs:
            raise InputError(f"the log has nothing of {split}")
        sign = -1 if highest else 1
        return min(epochs, key=lambda epoch: (sign * self.value(split, epoch, name), -epoch))

    @property
    def updates(self) -> int:
        """How many updates there were."""
        return int(max(values["num_updates"] for values in self.splits["train"].values()))

    @property
    def minutes(self) -> float:
        """How long training took, without validation."""
        return sum(values["train_wall"] for values in self.splits["train"].values()) / 60


def read_log(path: str | Path) -> TrainingLog:
    """Read a log, of several calls if the training was interrupted and went on.

    Raises:
        InputError: there is no such file, or the training did not end.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such run; make it first")
    with reading(path):
        text = path.read_text(errors="replace")
    splits: dict[str, dict[int, dict[str, float]]] = {}
    for entry in logged(text.splitlines()):
        if entry.split != "train_inner":
            splits.setdefault(entry.split, {})[int(entry.values["epoch"])] = entry.values
    if "done training in" not in text or "train" not in splits:
        raise InputError(f"{path}: the training did not end")
    return TrainingLog(splits)
