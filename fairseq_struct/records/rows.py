"""Rows of tables: records that differ by seed alone become one, with mean and deviation."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairseq_struct.records.results import Result

STDERR = "_stderr"  # a metric of this name is the error of the one before it
_SEED = re.compile(r"\bseed \d+")


@dataclass(frozen=True)
class Row:
    """What was measured of one variant under one setting, by one seed or several.

    Attributes:
        results: the records, which differ by seed alone.
    """

    results: tuple[Result, ...]

    @property
    def variant(self) -> str:
        """The variant of all."""
        return self.results[0].variant

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(sorted(item.seed for item in self.results))

    @property
    def updates(self) -> int:
        """The training updates of each."""
        return self.results[0].updates

    @property
    def minutes(self) -> float:
        """The mean time of training."""
        return statistics.mean(item.minutes for item in self.results)

    @property
    def data(self) -> str:
        """What was measured; without the seed of a trained model that was, if it varies."""
        texts = {item.data for item in self.results}
        return texts.pop() if len(texts) == 1 else _without_seeds(self.results[0].data)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics in any of the records, but for errors of another one."""
        return names_of(self.results)

    def ours(self, name: str) -> str:
        """A metric as text: mean ± sample standard deviation over seeds, or the value of one seed.

        Where a record has its own standard error, as ``NAME_stderr``, that stands behind ±.
        """
        found = [item.metrics for item in self.results if name in item.metrics]
        if len(found) < 2:
            return _with_error(found[0], name) if found else ""
        values = [metrics[name] for metrics in found]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"

    def paper(self, name: str) -> str:
        """The paper's value of a metric, as text; empty if it has none."""
        known = self.results[0].paper
        return _with_error(known, name) if name in known else ""

    def cell(self, name: str) -> str:
        """``ours (paper)``, or ours alone."""
        paper = self.paper(name)
        return f"{self.ours(name)} ({paper})" if paper else self.ours(name)


def rows_of(results: Iterable[Result]) -> list[Row]:
    """The rows of one experiment, in the order of their first records."""
    groups: dict[tuple, list[Result]] = {}
    for item in results:
        key = item.variant, item.updates, item.scale, _without_seeds(item.data)
        groups.setdefault(key, []).append(item)
    return [Row(tuple(group)) for group in groups.values()]


def names_of(results: Iterable[Result]) -> list[str]:
    """Names of the metrics in any record, but for errors of another one."""
    names = dict.fromkeys(name for item in results for name in item.metrics)
    return [name for name in names if not (name.endswith(STDERR) and name[: -len(STDERR)] in names)]


def in_words(row: Row) -> str:
    """What a recipe prints: ``EXPERIMENT VARIANT: name value …  (paper: name value, …)``."""
    names = row.metrics
    paper = ", ".join(f"{name} {row.paper(name)}" for name in names if row.paper(name))
    shown = "  ".join(f"{name} {row.ours(name)}" for name in names)
    seeds = f"  ({len(row.seeds)} seeds)" if len(row.seeds) > 1 else ""
    return f"{row.results[0].experiment} {row.variant}: {shown}{seeds}  (paper: {paper or '-'})"


def shared(texts: Sequence[str]) -> str:
    """Texts as one, without repeating the parts between semicolons that they have in common."""
    return "; ".join(dict.fromkeys(part for text in texts for part in text.split("; ") if part))


def _without_seeds(data: str) -> str:
    return _SEED.sub("several seeds", data)


def _with_error(values: dict[str, float], name: str) -> str:
    error = values.get(f"{name}{STDERR}")
    return _number(values[name]) if error is None else f"{_number(values[name])} ± {error:.2f}"


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
