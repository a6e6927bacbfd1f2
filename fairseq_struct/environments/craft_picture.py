"""Pictures of worlds of Craft."""

from __future__ import annotations

import numpy as np

from fairseq_struct.environments.craft_kernels import (
    BOUNDARY,
    DOWN_BY,
    FIRST_KIND,
    FREE,
    OBSTACLE,
    RIGHT_BY,
    WORKSHOP,
)
from fairseq_struct.environments.craft_worlds import CraftWorlds

CELL = 24  # pixels along a side
MARGIN = 4  # free pixels around what lies on a cell
GROUND, LINES, AGENT = (245, 242, 232), (222, 218, 205), (200, 30, 50)
FIXTURES = {BOUNDARY: (60, 60, 70), OBSTACLE: (125, 125, 130), WORKSHOP: (120, 80, 150)}
COLOURS = {"A": (150, 95, 45), "B": (235, 185, 20), "C": (95, 125, 160), "D": (70, 160, 70)}


def draw_picture(worlds: CraftWorlds, index: int) -> np.ndarray:
    """A world as a picture, the agent being a triangle that points where it faces.

    Args:
        worlds: the worlds.
        index: number of the world.

    Returns:
        (24 size, 24 size, 3) bytes: red, green, blue.
    """
    size = worlds.options.size
    picture = np.empty((size * CELL, size * CELL, 3), np.uint8)
    colours = FIXTURES | {
        FIRST_KIND + number: COLOURS[kind] for number, kind in enumerate(worlds.options.kinds)
    }
    for (row, column), content in np.ndenumerate(worlds.arrays.cells[index]):
        cell = picture[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL]
        cell[:] = LINES
        cell[1:, 1:] = GROUND
        inside = cell[MARGIN:-MARGIN, MARGIN:-MARGIN] if content >= FIRST_KIND else cell
        if content != FREE:
            inside[:] = colours[content]
    row, column = worlds.arrays.places[index]
    cell = picture[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL]
    cell[_triangle(int(worlds.arrays.facing[index]))] = AGENT
    return picture


def _triangle(facing: int) -> np.ndarray:
    """(cell, cell) booleans: a triangle with its tip in a direction."""
    down, right = np.mgrid[:CELL, :CELL] - (CELL - 1) / 2
    ahead = down * DOWN_BY[facing] + right * RIGHT_BY[facing]
    aside = np.abs(down * RIGHT_BY[facing] - right * DOWN_BY[facing])
    reach = CELL / 2 - MARGIN
    return (ahead >= -reach) & (aside <= (reach + 1 - ahead) / 2)
