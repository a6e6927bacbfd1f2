"""Curves of metrics in training logs; runs that differ by seed alone belong together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.files.text_files import files_of, read_text
from fairseq_struct.records.training_log import LOG, Logged, logged, seconds_of_epochs

# What the x axis counts.
AXES = ("updates", "epochs", "minutes")
_NUMBERS_OF_AXES = {"updates": "num_updates"}
_SEED = re.compile(r"seed[_=-]?\d+")
_CONFUSION = "confusion_"


def logs_of(runs: Iterable[Path]) -> list[Path]:
    """Logs of runs: those given, and all ``train.log`` in and below the folders given.

    Raises:
        InputError: a path does not exist, or a folder has no log.
    """
    found: list[Path] = []
    for run in runs:
        if not run.exists():
            raise InputError(f"{run}: no such file or folder")
        logs = [run] if run.is_file() else files_of(run, f"**/{LOG}")
        if not logs:
            raise InputError(f"{run}: no {LOG} in or below this folder")
        found += logs
    return list(dict.fromkeys(found))


def by_seeds(logs: Sequence[Path]) -> dict[str, list[Path]]:
    """Groups of logs whose paths differ by a part ``seed_N`` alone, by the rest of their paths.

    What all groups have in common at the beginning and at the end is left out of their names.
    """
    groups: dict[tuple[str, ...], list[Path]] = {}
    for log in logs:
        parts = log.parts[:-1] if log.name == LOG else log.with_suffix("").parts
        groups.setdefault(tuple(one for one in parts if not _SEED.fullmatch(one)), []).append(log)
    if len(groups) == 1:
        ((parts, own),) = groups.items()
        return {parts[-1] if parts else "run": own}
    first, last = 0, 0
    shortest = min(map(len, groups))
    while first < shortest and len({parts[first] for parts in groups}) == 1:
        first += 1
    while last < shortest - first and len({parts[-1 - last] for parts in groups}) == 1:
        last += 1
    names = {parts: "/".join(parts[first : len(parts) - last]) for parts in groups}
    return {names[parts] or "/".join(parts) or ".": own for parts, own in groups.items()}


def read_entries(log: Path) -> list[Logged]:
    """The lines of numbers of a log; none before the first update that it logs."""
    return list(logged(read_text(log).splitlines()))


def entries_of_split(
    logs: Iterable[Path], split: str
) -> tuple[dict[Path, list[Logged]], list[str]]:
    """The lines of numbers of those logs that have numbers of a split.

    Returns:
        The lines of each log, and for each of the other logs what it lacks: a training that has
        just begun has no number yet.

    Raises:
        InputError: no log has numbers of the split; the message is about the first one.
    """
    found, lacks = {}, []
    for log in logs:
        entries = read_entries(log)
        splits = dict.fromkeys(entry.split for entry in entries)
        if split in splits:
            found[log] = entries
        elif splits:
            lacks.append(f"{log}: no split {split!r}; the log has {', '.join(splits)}")
        else:
            lacks.append(f"{log}: no numbers; train with --log-format json --log-file {LOG}")
    if not found:
        raise InputError(lacks[0])
    return found, lacks


def curve_of(
    log: Path, entries: Sequence[Logged], split: str, metric: str, axis: str
) -> tuple[list[float], list[float]]:
    """x and y values of a metric in one log, which a resumed run may have written in parts.

    Args:
        log: for messages.
        entries: of this log.
        split: ``valid``, ``train``, or another one.
        metric: without the prefix of the split.
        axis: one of :data:`AXES`, or a metric of the split. Minutes are those of training, without
            validation; within an epoch, as many updates take as many minutes.

    Raises:
        InputError: the log has no such metric of the split; the message lists those it has.
    """
    own = [entry for entry in entries if entry.split == split]
    known = sorted({name for entry in own for name in entry.values})
    if metric not in known:
        raise InputError(
            f"{log}: no metric {metric!r} of {split}; the log has "
            f"{', '.join(one for one in known if not one.startswith(_CONFUSION))}"
            f"{suggestion(metric, known)}"
        )
    minutes = _minutes(entries) if axis == "minutes" else {}
    points: dict[float, float] = {}
    for entry in own:
        if metric not in entry.values:
            continue
        # What is logged within an epoch has the number of epochs, with a fraction, as "update".
        epochs = entry.values.get("update", entry.values.get("epoch"))
        if axis == "minutes":
            x = None if epochs is None else _minutes_at(epochs, minutes)
        elif axis == "epochs":
            x = epochs
        else:
            x = entry.values.get(_NUMBERS_OF_AXES.get(axis, axis))
        if x is not None:
            # A training that went back, to a checkpoint or its start, takes back what came later.
            while points and next(reversed(points)) >= x:
                points.popitem()
            points[float(x)] = entry.values[metric]
    if not points:
        raise InputError(f"{log}: {split} has no number of {axis}")
    return list(points), list(points.values())


def confusion_of(log: Path, entries: Sequence[Logged], split: str) -> tuple[list[str], list, int]:
    """Labels, counts [true][predicted] and epoch of the last confusion table in a log.

    Raises:
        InputError: the log has no such table of this split.
    """
    for entry in reversed(entries):
        if entry.split == split:
            counts = {
                name.removeprefix(_CONFUSION): int(value)
                for name, value in entry.values.items()
                if name.startswith(_CONFUSION)
            }
            labels = _labels(counts)
            if labels:
                rows = [[counts[f"{true}_{found}"] for found in labels] for true in labels]
                return labels, rows, int(entry.values.get("epoch", 0))
    raise InputError(f"{log}: no confusion table of {split}; classifiers log one at validation")


def _minutes(entries: Sequence[Logged]) -> Mapping[float, float]:
    """Minutes of training until the end of each epoch."""
    epochs = {entry.values["epoch"]: entry.values for entry in entries if entry.split == "train"}
    seconds = seconds_of_epochs(epochs)
    totals = accumulate(seconds.values())
    return {epoch: total / 60 for epoch, total in zip(seconds, totals, strict=True)}


def _minutes_at(epochs: float, minutes: Mapping[float, float]) -> float | None:
    """Minutes of training until a number of epochs; None in an epoch that has not ended."""
    whole = math.floor(epochs)
    before = minutes.get(whole, None if whole else 0.0)
    if epochs == whole or before is None or whole + 1 not in minutes:
        return before if epochs == whole else None
    return before + (epochs - whole) * (minutes[whole + 1] - before)


def _labels(counts: Mapping[str, int]) -> list[str]:
    """Labels of a table by the names TRUE_PREDICTED of its cells; a label may have a ``_``."""
    middle = {name: len(name) // 2 for name in counts}
    labels = [
        name[:at] for name, at in middle.items() if name[at : at + 1] == "_"
        and name[:at] == name[at + 1 :]
    ]  # fmt: skip
    whole = all(f"{one}_{other}" in counts for one in labels for other in labels)
    return labels if whole and len(labels) ** 2 == len(counts) else []
