"""Draws an episode: its actions, where options end, and which option is on.

Source: Y. Shen's thesis, figure 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fairseq_struct.pages.drawing.shapes import (
    BLUE,
    GREY,
    RED,
    Box,
    Label,
    Line,
    Picture,
    Shape,
)
from fairseq_struct.pages.drawing.text import width_of

# What a reader of the pictures must know.
LEGEND = (
    "Columns are steps. The height of a red bar: e_t, how likely a subtask ended before this step. "
    "The darker a blue cell, the larger the probability p_t of its option. Below, the subtasks "
    "that the steps belong to. On the page, the mouse tells the numbers."
)
_ROW, _BARS, _MARGIN, _NARROWEST = 22, 60, 8, 20


def trajectory(
    actions: Sequence[str],
    ends: Sequence[float],
    options: Sequence[Sequence[float]] = (),
    subtasks: Sequence[str] = (),
    option_names: Sequence[str] = (),
) -> Picture:
    """Draw the steps of one episode.

    Args:
        actions: name of the action of each step.
        ends: e_t of each step, from 0 to 1.
        options: p_t of each step, over the same options; empty for a policy without options.
        subtasks: name of the subtask of each step; empty if it is unknown.
        option_names: names of the options; "option 1" and so on if empty.

    Raises:
        ValueError: no step, numbers of steps that differ, or steps with other numbers of options.
    """
    count = len(options[0]) if len(options) else 0
    names = list(option_names) or [f"option {place}" for place in range(1, count + 1)]
    _check(actions, ends, options, subtasks, names)
    left = max(width_of(name) for name in ["action", "switch", *names]) + 2 * _MARGIN
    width = max(_NARROWEST, max(map(width_of, actions)) + 4)
    columns = [left + step * width for step in range(len(actions))]
    shapes: list[Shape] = [Label(left / 2, 16, "action")]
    shapes += [Label(x + width / 2, 16, name) for x, name in zip(columns, actions, strict=True)]
    shapes += _bars(actions, ends, columns, width)
    shapes.append(Label(left / 2, _ROW + _BARS / 2 + 5, "switch"))
    top = _ROW + _BARS + _MARGIN
    for row, name in enumerate(names):
        y = top + row * _ROW
        shapes.append(Label(left / 2, y + 16, name))
        for step, (x, probabilities) in enumerate(zip(columns, options, strict=True), 1):
            value = float(probabilities[row])
            hint = f"{name}, step {step} ({actions[step - 1]}): p {value:.3f}"
            shapes.append(Box(x, y, width, _ROW, BLUE, _within(value), hint, GREY))
    end = columns[-1] + width
    below, right, bottom = _spans(subtasks, columns, width, top + len(names) * _ROW)
    return Picture(max(end, right) + 1, bottom + _MARGIN, [*shapes, *below])


def _check(actions, ends, options, subtasks, names):
    steps = len(actions)
    if not steps:
        raise ValueError("a trajectory needs a step")
    for what, values in (("ends", ends), ("options", options), ("subtasks", subtasks)):
        if len(values) != steps and (what == "ends" or len(values)):
            raise ValueError(f"{what} of {len(values)} steps are not those of {steps} actions")
    if any(len(one) != len(names) for one in options):
        raise ValueError(f"a step has other options than {', '.join(names)}")


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _bars(
    actions: Sequence[str], ends: Sequence[float], columns: Sequence[float], width: float
) -> list[Shape]:
    """A frame for each step, filled from below as far as e_t says."""
    shapes: list[Shape] = []
    for step, (x, action, end) in enumerate(zip(columns, actions, ends, strict=True), 1):
        hint = f"step {step} ({action}): e {float(end):.3f}"
        height = _within(float(end)) * _BARS
        shapes.append(Box(x, _ROW, width, _BARS, GREY, 0.0, hint, GREY))
        shapes.append(Box(x + 2, _ROW + _BARS - height, width - 4, height, RED, 1.0, hint))
    return shapes


def _spans(
    subtasks: Sequence[str], columns: Sequence[float], width: float, top: float
) -> tuple[list[Shape], float, float]:
    """A line and a name below steps of one subtask; where the names end at the right, and below.

    A name that would touch the one before it goes to the next free line.
    """
    shapes: list[Shape] = []
    taken: list[float] = []  # where the last name of each line ends
    for name, places in groupby(range(len(subtasks)), key=subtasks.__getitem__):
        steps = list(places)
        if not name:
            continue
        left, right = columns[steps[0]] + 2, columns[steps[-1]] + width - 2
        half = width_of(name) / 2
        middle = max((left + right) / 2, half)
        line = next((n for n, end in enumerate(taken) if end + 4 <= middle - half), len(taken))
        taken[line : line + 1] = [middle + half]
        shapes.append(Line(left, top + 6, right, top + 6))
        shapes.append(Label(middle, top + 24 + line * _ROW, name))
    return shapes, max(taken, default=0.0), top + 10 + len(taken) * _ROW
