"""Which of several intervals lie above the others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import count
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def stacked(intervals: Mapping[Key, tuple[int, int]]) -> dict[Key, int]:
    """Level of each interval, from 1.

    One is higher than all those within it, and no two of one level overlap: those that cross each
    other are on different levels. Intervals may share an end.

    Args:
        intervals: low and high end of each.
    """
    levels: dict[Key, int] = {}
    for key in sorted(intervals, key=lambda one: intervals[one][1] - intervals[one][0]):
        low, high = intervals[key]
        beside = [one for one in levels if intervals[one][0] < high and low < intervals[one][1]]
        inside = [
            levels[one] for one in beside if low <= intervals[one][0] and intervals[one][1] <= high
        ]
        used = {levels[one] for one in beside}
        lowest = 1 + max(inside, default=0)
        levels[key] = next(level for level in count(lowest) if level not in used)
    return levels
