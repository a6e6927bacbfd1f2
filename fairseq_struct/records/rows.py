"""Rows of tables: the seeds of a variant become one row, with mean and deviation."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import Result

STDERR = "_stderr"  # suffix of a metric that is the standard error of the metric before it
# Text that is cut at random places has a few batches more or fewer by seed, in as many epochs.
SAME_UPDATES = 0.01
_SEED = re.compile(r"\bseed \d+")
_UPDATES = re.compile(r"(?<=several seeds), (\d+) updates")


@dataclass(frozen=True)
class Row:
    """The records of one variant under one setting, of one seed or several.

    Attributes:
        results: the records, which :func:`rows_of` takes for seeds of one setting.
    """

    results: tuple[Result, ...]

    @property
    def variant(self) -> str:
        """The variant of all records."""
        return self.results[0].variant

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(sorted(item.seed for item in self.results))

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings of the commands, which all records share."""
        return self.results[0].settings

    @property
    def updates(self) -> str:
        """Training updates of a record as text; if they differ by seed, the least and the most."""
        numbers = sorted({item.updates for item in self.results})
        return " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))

    @property
    def minutes(self) -> dict[str, float]:
        """Mean training time in minutes, by device; of a processor, name and threads count."""
        times: dict[str, list[float]] = {}
        for item in self.results:
            name, *more = item.device.split(", ")
            times.setdefault(", ".join([name, *more[-1:]]), []).append(item.minutes)
        return {device: statistics.mean(found) for device, found in times.items()}

    @property
    def data(self) -> str:
        """The data in words; if the records differ, "seed N" becomes "several seeds".

        Updates after it are left out if they differ, too.
        """
        texts = {item.data for item in self.results}
        if len(texts) > 1:
            texts = {_without_seeds(text) for text in texts}
        return texts.pop() if len(texts) == 1 else _UPDATES.sub("", texts.pop())

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics in the records, except standard errors of other metrics."""
        return names_of(self.results)

    def ours(self, name: str) -> str:
        """A metric as text: mean ± sample standard deviation over seeds, or the value of one seed.

        If the only record has a standard error ``NAME_stderr``, it stands after ±. Where some seeds
        lack the metric, the number of the others follows.
        """
        found = [item.metrics for item in self.results if name in item.metrics]
        few = f", {len(found)} of {len(self.results)} seeds" * (len(found) < len(self.results))
        if len(found) < 2:
            return _with_error(found[0], name) + few if found else ""
        values = [metrics[name] for metrics in found]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}{few}"

    def paper(self, name: str) -> str:
        """The paper's value of a metric as text; empty if the paper gives none."""
        known = self.results[0].paper
        return _with_error(known, name) if name in known else ""

    def cell(self, name: str) -> str:
        """Text of a table cell: ``ours (paper)``, or ours alone."""
        paper = self.paper(name)
        return f"{self.ours(name)} ({paper})" if paper else self.ours(name)


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Group the records of one experiment into rows, in the order of their first records.

    Records of a variant are one row if scale, data and the settings of the commands agree and their
    numbers of updates differ by at most 1 %. Records of the same seed are one row only if their
    updates are equal; where several rows fit, the one with the nearest number is taken.
    """
    places, found = {}, defaultdict(lambda: defaultdict(list))
    for place, item in enumerate(results):
        places[id(item)] = place
        found[_setting_of(item)][_updates_of(item)].append(item)
    groups = [
        sorted(group, key=lambda item: places[id(item)])
        for of_setting in found.values()
        for group in _joined([own for _, own in sorted(of_setting.items())])
    ]
    return [Row(tuple(own)) for own in sorted(groups, key=lambda own: places[id(own[0])])]


def rows_by_variant(results: Iterable[Result]) -> dict[str, Row]:
    """The row of each variant, for figures, which cannot tell settings apart.

    Raises:
        InputError: records of one variant have several settings.
    """
    found: dict[str, Row] = {}
    for row in rows_of(results):
        if row.variant in found:
            raise InputError(
                f"{row.results[0].experiment} {row.variant}: its records differ in their updates, "
                "scale, data or settings; a figure needs those of one setting"
            )
        found[row.variant] = row
    return found


def names_of(results: Iterable[Result]) -> list[str]:
    """Names of all metrics in the records, except standard errors of other metrics."""
    names = dict.fromkeys(name for item in results for name in item.metrics)
    return [name for name in names if not (name.endswith(STDERR) and name[: -len(STDERR)] in names)]


def in_words(row: Row) -> str:
    """The line a recipe prints: ``EXPERIMENT VARIANT: name value …  (paper: name value, …)``."""
    names = row.metrics
    paper = ", ".join(f"{name} {row.paper(name)}" for name in names if row.paper(name))
    shown = "  ".join(f"{name} {row.ours(name)}" for name in names)
    seeds = f"  ({len(row.seeds)} seeds)" if len(row.seeds) > 1 else ""
    return f"{row.results[0].experiment} {row.variant}: {shown}{seeds}  (paper: {paper or '-'})"


def shared(texts: Sequence[str]) -> str:
    """Join texts; a part between semicolons that several texts share appears once."""
    return "; ".join(dict.fromkeys(part for text in texts for part in text.split("; ") if part))


def _joined(groups: list[list[Result]]) -> list[list[Result]]:
    """Join records of one setting, grouped by their updates, the nearest groups first."""
    while pairs := [
        (_distance(one, other), first, second)
        for (first, one), (second, other) in combinations(enumerate(groups), 2)
        if _are_one_row(one, other)
    ]:
        _, first, second = min(pairs)
        groups[first] += groups.pop(second)
    return groups


def _are_one_row(one: Sequence[Result], other: Sequence[Result]) -> bool:
    """Whether no seed is in both of two groups, whose updates differ, and all updates are near."""
    if {item.seed for item in one} & {item.seed for item in other}:
        return False
    pairs = product(map(_updates_of, one), map(_updates_of, other))
    return all(len(a) == len(b) and all(map(_near, a, b)) for a, b in pairs)


def _distance(one: Sequence[Result], other: Sequence[Result]) -> int:
    return min(abs(a.updates - b.updates) for a, b in product(one, other))


def _setting_of(item: Result) -> tuple:
    return item.variant, item.scale, item.settings, _without_numbers(item.data)


def _near(one: int, other: int) -> bool:
    return abs(one - other) <= SAME_UPDATES * min(one, other)


def _updates_of(item: Result) -> tuple[int, ...]:
    """Updates of the training, and of the models that were measured, as the data tell them."""
    return item.updates, *map(int, _UPDATES.findall(_without_seeds(item.data)))


def _without_numbers(data: str) -> str:
    return _UPDATES.sub("", _without_seeds(data))


def _without_seeds(data: str) -> str:
    return _SEED.sub("several seeds", data)


def _with_error(values: dict[str, float], name: str) -> str:
    error = values.get(f"{name}{STDERR}")
    return _number(values[name]) if error is None else f"{_number(values[name])} ± {error:.2f}"


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
