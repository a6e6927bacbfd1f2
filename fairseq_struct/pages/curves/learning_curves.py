"""Draws learning curves: mean and band over seeds, panels side by side, as PNG or SVG.

Source: Y. Shen's thesis, figures 16, 17 and 19 to 21.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import BinaryIO, NamedTuple

import numpy as np

from fairseq_struct.errors import InputError
from fairseq_struct.pages.drawing.inputs import numbers_in
from fairseq_struct.pages.drawing.png import save_png
from fairseq_struct.pages.drawing.shapes import BLACK, GREY, OWN_COLOURS
from fairseq_struct.pages.drawing.text import in_markup

Run = tuple[Sequence[float], Sequence[float]]
# Okabe and Ito's colours, which people with any colour vision can tell apart; then other lines.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a")
_LINES = ("-", "--", ":", "-.")
# From here on, numbers at the x axis are written as 10k or 2M.
_THOUSANDS = 10_000
# What lies around a mean, and how the legend tells it.
BANDS = {
    "range": "band: least to most of the seeds",
    "deviation": "band: one standard deviation of the seeds",
}
_WIDTH, _HEIGHT, _LEGEND_LINE = 4.6, 3.2, 0.25  # inches


class Panel(NamedTuple):
    """Curves over the same axes.

    Attributes:
        title: above it.
        x_label, y_label: names of the axes, with their units.
        curves: for each name, the x and y values of every seed. They may stop or lie elsewhere.
        y_limits: the lowest and the highest y; what fits the curves if None.
    """

    title: str
    x_label: str
    y_label: str
    curves: Mapping[str, Sequence[Run]]
    y_limits: tuple[float, float] | None = None


class Summary(NamedTuple):
    """Mean, smallest and largest y of several seeds at each x, and their standard deviation.

    The deviation is that of a sample, 0 for a single seed.
    """

    x: np.ndarray
    mean: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    deviation: np.ndarray


def mean_and_range(runs: Sequence[Run]) -> Summary:
    """Summarise seeds whose x values differ.

    Seeds are lines between their points. They are compared at the x values of all of them, from
    where the last seed starts to where the first one stops: nothing is made up beyond a seed's end,
    and no mean jumps because a seed is missing.

    Args:
        runs: x and y values of each seed; x increases.

    Raises:
        InputError: no seed, a seed without values or with x and y of different lengths, values
            that are not finite, x that does not increase, or seeds that do not overlap.
    """
    if not runs:
        raise InputError("a learning curve needs a seed")
    arrays = [_checked(seed, *run) for seed, run in enumerate(runs, 1)]
    first, last = max(x[0] for x, _ in arrays), min(x[-1] for x, _ in arrays)
    if first > last:
        raise InputError(f"one seed starts at {first:g}, where another has stopped, at {last:g}")
    places = np.unique(np.concatenate([x for x, _ in arrays]))
    places = places[(places >= first) & (places <= last)]
    values = np.stack([np.interp(places, x, y) for x, y in arrays])
    deviation = values.std(0, ddof=1) if len(runs) > 1 else np.zeros(len(places))
    return Summary(places, values.mean(0), values.min(0), values.max(0), deviation)


def write_learning_curves(
    file: BinaryIO, panels: Sequence[Panel], title: str = "", band: str = "range"
) -> None:
    """Draw panels in a row into a PNG; a name has the same colour in all of them.

    Args:
        file: open for writing.
        panels: from left to right.
        title: above them.
        band: around the means: ``range``, from the least to the most of the seeds, or
            ``deviation``, one standard deviation to both sides. The legend tells it, and how many
            seeds a line has.

    Raises:
        InputError: no panel, one without curves, or curves as in :func:`mean_and_range`.
    """
    save_png(_figure(panels, title, band, 144), file)


def learning_curves_svg(panels: Sequence[Panel], title: str = "", band: str = "range") -> str:
    """Draw the same as SVG, which is a file as well as a part of a page; see above."""
    from matplotlib import rc_context

    # Words stay text; the same curves make the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title}), StringIO() as file:
        figure = _figure(panels, title, band, 72)
        figure.patch.set_alpha(0)
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
        drawn = file.getvalue()
    told = in_markup(title or "; ".join(panel.title or panel.y_label for panel in panels))
    _, _, inside = drawn[drawn.index("<svg") :].partition(">")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{size[1]}" height="{size[2]}" viewBox="0 0 {size[1]} {size[2]}" role="img" '
        f'aria-label="Learning curves: {told}">{OWN_COLOURS}'
    )
    return begin + inside.replace(BLACK, "currentColor")


def _figure(panels: Sequence[Panel], title: str, band: str, dpi: int):
    if not panels or not all(panel.curves for panel in panels):
        raise InputError("learning curves need a panel, and every panel a curve")
    if band not in BANDS:
        raise InputError(f"the band is {' or '.join(BANDS)}, not {band}")
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    longest = max(len(name) for name in names) + 12
    per_row = max(1, min(2 * len(panels), 56 * len(panels) // longest))
    rows = -(-len(names) // per_row)
    legend = (rows + 1) * _LEGEND_LINE
    width, height = _WIDTH * len(panels), _HEIGHT + legend
    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    figure.get_layout_engine().set(rect=(0, legend / height, 1, 1 - legend / height))
    lines = {}
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw(axes, panel, names, lines, band)
    labels = [f"{name} ({_seeds(name, panels)})" for name in names]
    several = any(len(runs) > 1 for panel in panels for runs in panel.curves.values())
    figure.legend(
        [lines[name] for name in names], labels, loc="lower center", ncols=per_row,
        frameon=False, labelcolor=BLACK, title=BANDS[band] if several else None,
        title_fontsize="small", alignment="center",
    ).get_title().set_color(BLACK)  # fmt: skip
    if title:
        figure.suptitle(title, parse_math=False, color=BLACK)
    return figure


def _checked(seed: int, x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = (np.asarray(numbers_in(values, f"seed {seed}, {name}"))
            for name, values in (("x", x), ("y", y)))  # fmt: skip
    if len(x) != len(y) or not len(x):
        raise InputError(f"seed {seed} has {len(x)} values of x and {len(y)} of y")
    if (np.diff(x) <= 0).any():
        raise InputError(f"x of seed {seed} does not increase")
    return x, y


def _draw(axes, panel: Panel, names: Sequence[str], lines: dict, band: str):
    """Draw a panel; add a line of each name to ``lines``."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for name, runs in panel.curves.items():
        try:
            found = mean_and_range(runs)
        except InputError as error:
            raise InputError(f"{panel.title or panel.y_label}, {name}: {error}") from None
        place = names.index(name)
        colour = COLOURS[place % len(COLOURS)]
        style = _LINES[place // len(COLOURS) % len(_LINES)]
        marker = "o" if len(found.x) == 1 else ""
        (lines[name],) = axes.plot(found.x, found.mean, style, color=colour, marker=marker)
        low, high = found.lowest, found.highest
        if band == "deviation":
            low, high = found.mean - found.deviation, found.mean + found.deviation
        axes.fill_between(found.x, low, high, color=colour, alpha=0.2, lw=0)
    axes.set_title(panel.title, parse_math=False, color=BLACK)
    axes.set_xlabel(panel.x_label, parse_math=False, color=BLACK)
    axes.set_ylabel(panel.y_label, parse_math=False, color=BLACK)
    axes.tick_params(colors=BLACK)
    for spine in axes.spines.values():
        spine.set_color(GREY)
    axes.grid(color=GREY, alpha=0.3)
    if all(value == int(value) for line in axes.lines for value in line.get_xdata()):
        whole = MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True, min_n_ticks=1)
        axes.xaxis.set_major_locator(whole)
    if axes.get_xlim()[1] >= _THOUSANDS:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)


def _seeds(name: str, panels: Sequence[Panel]) -> str:
    counts = {len(panel.curves[name]) for panel in panels if name in panel.curves}
    least, most = min(counts), max(counts)
    if least == most:
        return "1 seed" if most == 1 else f"{most} seeds"
    return f"{least} to {most} seeds"
