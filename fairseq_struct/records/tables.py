"""Markdown tables made from records, in the narrower orientation, with the paper's values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from fairseq_struct.records.commands import command_of, other_commands
from fairseq_struct.records.results import Result
from fairseq_struct.records.rows import STDERR, Row, rows_of, shared

SCALES = {"paper": "The paper's setting", "reduced": "Scaled down from the paper's setting"}
_QUANTITY = re.compile(r"(.+)_(\d+)")
_LOOSE_QUANTITY = re.compile(r"(.+?)_(\d.*)")  # accuracy_200_300, f1_10_arguments
WIDEST = 9  # cells of a line


@dataclass(frozen=True)
class Column:
    """A column: its name, and one text for each variant."""

    name: str
    cells: tuple[str, ...]


def markdown_table(
    results: Sequence[Result], published: Mapping[str, Mapping[str, float]] | None = None
) -> str:
    """Make the tables of one experiment's records.

    Seeds of one setting are one row (:func:`~fairseq_struct.records.rows.rows_of`). A sentence
    above the tables gives what all rows have in common; it also says that the paper's values are
    in brackets. Variants are rows, or columns if that is narrower. Several quantities measured at
    the same numbers (NAME_10, NAME_20, …) get one table each, and so does one of them if the table
    would be too wide. Without such quantities, seeds, updates and minutes have a table of their own
    then.

    Args:
        results: records of one experiment, in the order of the variants.
        published: rows of the paper that are not rebuilt: values by metric, by variant.

    Returns:
        Lines of Markdown.
    """
    if not results:
        raise ValueError("a table needs at least one record")
    rows = rows_of(results)
    metrics = dict.fromkeys(name for row in rows for name in row.metrics)
    columns = [Column(name, tuple(row.cell(name) for row in rows)) for name in metrics]
    about, further = _circumstances(rows)
    constant = [column for column in columns if len(rows) > 1 and len(set(column.cells)) == 1]
    if len(constant) == len(columns):
        constant = []
    about += [f"{column.name} {column.cells[0]}" for column in constant]
    columns = [column for column in columns if column not in constant]
    told = [shared([row.data for row in rows]).rstrip("."), "; ".join(about)]
    published = published or {}
    if published or any(row.paper(column.name) for row in rows for column in columns):
        told.append("In brackets: the paper's")
    told.append("; ".join(dict.fromkeys(item.device for item in results)))
    told.append(f"Command: `{command_of(results)}`")
    told += [
        f"Of {', '.join(f'`{row}`' for row in named)}: `{command}`"
        for command, named in other_commands(results).items()
    ]
    lines = [". ".join(filter(None, told))]
    columns = [_with_published(column, published) for column in columns]
    further = [Column(one.name, (*one.cells, *[""] * len(published))) for one in further]
    names = (*_names(rows), *published)
    variants = Column("", names)
    groups = _by_quantity(columns)
    if min(len(columns) + len(further), len(names)) >= WIDEST and len(groups) == 1:
        groups = _quantity_apart(columns)
        if len(groups) == 1 and further:
            groups, further = [*groups, ("The runs", further)], []
    last = groups[-1][1]
    for title, group in groups:
        lines += ["", *([f"{title}:", ""] if title else [])]
        # Seeds, updates and minutes may be left to the last table.
        left = group is not last and len(group) + len(further) >= WIDEST
        lines += _narrower(*_with_values(variants, group, [] if left else further))
    return "\n".join(lines) + "\n"


def _names(rows: Sequence[Row]) -> list[str]:
    """Variants; rows of one variant are told apart by the settings that not all of them have."""
    names = []
    for row in rows:
        alike = [set(one.settings) for one in rows if one.variant == row.variant]
        own = [one for one in row.settings if not all(one in other for other in alike)]
        names.append(f"`{row.variant}`" + "".join(f", `{one}`" for one in own))
    return names


def _with_published(column: Column, published: Mapping[str, Mapping[str, float]]) -> Column:
    """The column with the cells ``(paper)`` of published rows."""
    found = (row.get(column.name) for row in published.values())
    return Column(column.name, (*column.cells, *("" if v is None else f"({v:.2f})" for v in found)))


def _scale_of(rows: Sequence[Row]) -> str:
    """Whether the runs have the paper's setting; of a mixed table, which rows have it."""
    names = dict.fromkeys(row.results[0].variant for row in rows if row.results[0].scale == "paper")
    if names and any(row.results[0].scale != "paper" for row in rows):
        return f"{SCALES['reduced']}, but for {', '.join(f'`{name}`' for name in names)}"
    return SCALES[rows[0].results[0].scale]


def _circumstances(rows: Sequence[Row]) -> tuple[list[str], list[Column]]:
    """Scale, seeds, updates, minutes: phrases for what all rows share, columns for the rest."""
    results = [item for row in rows for item in row.results]
    if not any(item.updates for item in results):  # a benchmark trains nothing
        return [], []
    summed_up = any(name.endswith(STDERR) for item in results for name in item.metrics)
    phrases = [_scale_of(rows)]
    columns = []

    def share(name: str, texts: list[str], phrase: str):
        if len(set(texts)) == 1:
            phrases.append(phrase.format(texts[0]))
        else:
            columns.append(Column(name, tuple(texts)))

    counts = [len(row.seeds) for row in rows]
    if max(counts) > 1:
        spread = "mean ± standard deviation over"
        if min(counts) < max(counts):
            phrases.append(f"{spread} seeds")
        share("seeds", list(map(str, counts)), f"{spread} {{}} seeds")
    elif not summed_up:  # else Result.data names the seeds
        share("seed", [str(row.seeds[0]) for row in rows], "seed {}")
    share("updates", [row.updates for row in rows], "{} updates")
    devices = dict.fromkeys(device for row in rows for device in row.minutes)
    several = any(len(row.minutes) > 1 for row in rows)
    for device in devices if several else [None]:
        times = [_minutes(row, device) for row in rows]
        if any(minutes >= 0.5 for minutes in times if minutes is not None):
            name = f"minutes ({device})" if several else "minutes"
            share(name, ["" if one is None else f"{one:.0f}" for one in times], f"{{}} {name}")
    return phrases, columns


def _minutes(row: Row, device: str | None) -> float | None:
    """Minutes on a device, or on the only one; None: the row has no run there."""
    return next(iter(row.minutes.values())) if device is None else row.minutes.get(device)


def _by_quantity(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    """Group columns NAME_10, NAME_20, … by NAME, if there are several NAMEs."""
    found = [_QUANTITY.fullmatch(column.name) for column in columns]
    groups: dict[str, list[Column]] = {}
    for match, column in zip(found, columns, strict=True):
        if match:
            groups.setdefault(match[1], []).append(Column(match[2], column.cells))
    alike = {tuple(column.name for column in group) for group in groups.values()}
    if not all(found) or len(groups) < 2 or len(alike) > 1:
        return [("", list(columns))]
    return list(groups.items())


def _quantity_apart(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    """Put the columns NAME_10, NAME_20, … of the most frequent NAMEs into tables of their own."""
    several = [sum(map(bool, column.cells)) > 1 for column in columns]  # for one row is no table
    for pattern in (_QUANTITY, _LOOSE_QUANTITY):
        found = [
            pattern.fullmatch(column.name) if own else None
            for own, column in zip(several, columns, strict=True)
        ]
        counts = Counter(match[1] for match in found if match)
        if max(counts.values(), default=0) > 1:
            break
    most = max([2, *counts.values()])
    apart = {name: [] for name, count in counts.items() if count == most}
    rest = []
    for match, column in zip(found, columns, strict=True):
        if match and match[1] in apart:
            apart[match[1]].append(Column(match[2], column.cells))
        else:
            rest.append(column)
    return [*apart.items(), *([("Other scores" if apart else "", rest)] if rest else [])]


def _with_values(
    variants: Column, group: Sequence[Column], further: Sequence[Column]
) -> tuple[Column, list[Column]]:
    """Names and columns of the rows that have a value in a group of columns."""
    rows = enumerate(zip(*(column.cells for column in group), strict=True))
    kept = [row for row, cells in rows if any(cells)]
    names, *columns = (
        Column(column.name, tuple(column.cells[row] for row in kept))
        for column in (variants, *group, *further)
    )
    return names, columns


def _narrower(variants: Column, columns: Sequence[Column]) -> list[str]:
    """The narrower table: with a row for each variant, or with a row for each column.

    One with a row for each variant must have at most ``WIDEST`` cells in a line. One with a row for
    each column is cut into tables of fewer variants if it is too wide.
    """
    grid = [[column.name, *column.cells] for column in (variants, *columns)]
    upright = [list(line) for line in zip(*grid, strict=True)]
    if _width(upright) <= _width(grid) and len(upright[0]) <= WIDEST:
        return _lines(upright)
    count = len(upright) - 1
    most = ceil(count / ceil(count / (WIDEST - 1)))
    parts = [
        [[line[0], *line[first : first + most]] for line in grid]
        for first in range(1, count + 1, most)
    ]
    made = [_lines([part[0], *(line for line in part[1:] if any(line[1:]))]) for part in parts]
    return [line for part in made for line in ("", *part)][1:]


def _lines(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines of Markdown of a table whose first row is its head."""
    header, *body = table
    rule = ["---", *["--:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *body)]


def _width(lines: list[list[str]]) -> int:
    return sum(max(map(len, column)) for column in zip(*lines, strict=True))
