"""How high the arcs of a dependency tree are, and where at its words each one ends."""

from __future__ import annotations

from collections.abc import Mapping

from fairseq_struct.pages.drawing.stacking import stacked

# From an arc's end to the next one at the same word, in pixels.
PORT = 6.0


def levels_of(arcs: Mapping[int, int]) -> dict[int, int]:
    """Height of each arc, from 1: higher than all those that it spans, as :func:`stacked` says.

    Args:
        arcs: from each modifier to its head, both 1-based; those from the root are left out.
    """
    ends = {modifier: tuple(sorted((modifier, head))) for modifier, head in arcs.items()}
    return stacked(ends)


def ports_of(
    arcs: Mapping[int, int], levels: Mapping[int, int]
) -> tuple[dict[int, float], dict[int, float]]:
    """Where each arc leaves its head and where it reaches its modifier, from their middles.

    At a word, arcs to the right end right of its middle, the highest next to it: no two arcs of a
    projective tree touch. The middle is free for the arc from the root.

    Returns:
        By modifier: pixels from the head's middle, and from the modifier's middle.
    """
    sides: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
    for modifier, head in arcs.items():
        side = 1 if modifier > head else -1
        sides.setdefault((head, side), []).append((-levels[modifier], modifier, True))
        sides.setdefault((modifier, -side), []).append((-levels[modifier], modifier, False))
    starts, ends = {}, {}
    for (_, side), found in sides.items():
        for place, (_, modifier, leaves) in enumerate(sorted(found), 1):
            (starts if leaves else ends)[modifier] = side * place * PORT
    return starts, ends
