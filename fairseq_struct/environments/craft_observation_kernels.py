"""Kernels that write what agents in Craft observe."""

from fairseq_struct.environments.craft_kernels import BOUNDARY, FREE
from fairseq_struct.structure.kernels.compiled import compiled, inner

WINDOW = 5  # cells of a block, and blocks, along a side
NEAR = WINDOW // 2  # cells from the middle of a window to its rim
FAR = WINDOW * WINDOW // 2  # and of the window of blocks


@inner
def _write_end(worlds, world, start, out):
    """Inventory and facing."""
    kinds = worlds.inventory.shape[1]
    for kind in range(kinds):
        out[start + kind] = worlds.inventory[world, kind]
    out[start + kinds + worlds.facing[world]] = 1.0


@inner
def _write_window(cells, row, column, channels, out):
    size = cells.shape[0]
    for r in range(row - NEAR, row + NEAR + 1):
        for c in range(column - NEAR, column + NEAR + 1):
            inside = 0 <= r < size and 0 <= c < size
            content = cells[r, c] if inside else BOUNDARY
            if content != FREE:
                place = (r - row + NEAR) * WINDOW + c - column + NEAR
                out[place * channels + content - 1] = 1.0


@inner
def _write_blocks(cells, row, column, channels, start, out):
    size = cells.shape[0]
    for i in range(WINDOW):
        for j in range(WINDOW):
            top, left = row - FAR + i * WINDOW, column - FAR + j * WINDOW
            beyond = top < 0 or left < 0 or top + WINDOW > size or left + WINDOW > size
            place = start + (i * WINDOW + j) * channels
            if beyond:
                out[place + BOUNDARY - 1] = 1.0
            for r in range(max(top, 0), min(top + WINDOW, size)):
                for c in range(max(left, 0), min(left + WINDOW, size)):
                    if cells[r, c] != FREE:
                        out[place + cells[r, c] - 1] = 1.0


@compiled
def observe_windows(worlds, channels, out):
    """A window of cells, one of blocks, the inventory, and the facing.

    Args:
        worlds: a :class:`.Worlds`.
        channels: what a cell may hold, beside nothing.
        out: (worlds, observation) output.
    """
    part = WINDOW * WINDOW * channels
    out[:] = 0.0
    for world in range(len(out)):
        cells, own = worlds.cells[world], out[world]
        row, column = worlds.places[world, 0], worlds.places[world, 1]
        _write_window(cells, row, column, channels, own)
        _write_blocks(cells, row, column, channels, part, own)
        _write_end(worlds, world, 2 * part, own)


@compiled
def observe_grid(worlds, channels, out):
    """The map, the agent's place, the inventory, and the facing.

    Args:
        worlds: a :class:`.Worlds`.
        channels: what a cell may hold, beside nothing.
        out: (worlds, observation) output.
    """
    size = worlds.cells.shape[1]
    part = size * size * channels
    out[:] = 0.0
    for world in range(len(out)):
        cells, own = worlds.cells[world], out[world]
        for row in range(size):
            for column in range(size):
                if cells[row, column] != FREE:
                    own[(row * size + column) * channels + cells[row, column] - 1] = 1.0
        own[part + worlds.places[world, 0] * size + worlds.places[world, 1]] = 1.0
        _write_end(worlds, world, part + size * size, own)
