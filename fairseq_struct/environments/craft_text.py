"""Maps of Craft as text: drawn for people, read for tests and for worlds made by hand."""

from __future__ import annotations

import numpy as np

from fairseq_struct.environments.craft_kernels import BOUNDARY, FREE
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.errors import InputError

FIXTURES = ".#ow"  # in the order of their numbers
AGENTS = "^v<>"  # in the order of moves


def draw_text(cells: np.ndarray, place: np.ndarray, facing: int, options: CraftOptions) -> str:
    """A map as text, a line per row.

    Args:
        cells: (size, size) numbers of what they hold.
        place: row and column of the agent.
        facing: its direction.
        options: of the map.
    """
    symbols = FIXTURES + options.kinds
    rows = [[symbols[content] for content in row] for row in cells]
    rows[place[0]][place[1]] = AGENTS[facing]
    return "\n".join(map("".join, rows))


def read_text(text: str, options: CraftOptions) -> tuple[np.ndarray, tuple[int, int], int]:
    """Cells, the agent's place and its direction, from a text of :func:`draw_text`.

    Raises:
        InputError: a map of another size or without boundary, an unknown symbol, or not one agent.
    """
    rows = [line.strip() for line in text.strip().splitlines()]
    size = options.size
    if len(rows) != size or any(len(row) != size for row in rows):
        raise InputError(f"a map must have {size} rows of {size} symbols")
    symbols = FIXTURES + options.kinds
    cells, agents = np.zeros((size, size), np.int64), []
    for place, symbol in np.ndenumerate(np.array([list(row) for row in rows])):
        if symbol in AGENTS:
            agents.append((place, AGENTS.index(symbol)))
        elif symbol not in symbols:
            raise InputError(
                f"a map has {str(symbol)!r} in row {place[0] + 1}; it may have {symbols}"
            )
        cells[place] = FREE if symbol in AGENTS else symbols.index(symbol)
    ring = np.ones_like(cells, dtype=bool)
    ring[1:-1, 1:-1] = False
    if not ((cells == BOUNDARY) == ring).all():
        raise InputError("a map must have its boundary # all around, and nowhere else")
    if len(agents) != 1:
        raise InputError(f"a map must have one agent, one of {AGENTS}; it has {len(agents)}")
    return cells, *agents[0]
