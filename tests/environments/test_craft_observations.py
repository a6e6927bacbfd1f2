"""What agents in Craft observe, against a direct computation from the map as text; and pictures."""

import numpy as np
import pytest

from fairseq_struct.environments.craft_picture import AGENT, CELL, draw_picture
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds

COUNT = 40


def walked(options):
    """Worlds after random steps."""
    worlds = CraftWorlds(options, COUNT)
    random = np.random.default_rng(1)
    worlds.reset(np.arange(COUNT), [random] * COUNT)
    for actions in random.integers(0, 5, (40, COUNT)):
        worlds.step(actions)
    return worlds


def parts_of(options, observed):
    """Its parts by name; they are all of it, in their order."""
    layout = options.layout()
    bounds = [layout[name].start for name in layout] + [options.observation_size]
    assert bounds[0] == 0 and [part.stop for part in layout.values()] == bounds[1:]
    return {name: observed[part] for name, part in layout.items()}


def symbol_at(rows, r, c):
    inside = 0 <= r < len(rows) and 0 <= c < len(rows)
    return rows[r][c] if inside else "#"


def check_end(parts, worlds, index, agent):
    assert parts["inventory"].tolist() == worlds.arrays.inventory[index].tolist()
    assert parts["facing"].tolist() == [float(agent == symbol) for symbol in "^v<>"]


def agent_of(rows):
    (found,) = (
        (r, c, symbol) for r, row in enumerate(rows) for c, symbol in enumerate(row)
        if symbol in "^v<>"
    )  # fmt: skip
    return found


OPTIONS = [
    {},
    {"task": "AAC", "size": 31, "kinds": "AC", "objects_per_kind": 60, "workshops": 20}
    | {"obstacles": 60},
    {"task": "A", "size": 4, "kinds": "A"},
]


@pytest.mark.parametrize("given", OPTIONS)
def test_windows(given):
    options = CraftOptions(**{"time_limit": 100, **given})
    worlds = walked(options)
    observed = worlds.observe()
    assert observed.shape == (COUNT, options.observation_size) and observed.dtype == np.float32
    symbols = "#ow" + options.kinds
    assert len(symbols) == len(options.channels)
    for index in range(COUNT):
        rows = worlds.text(index).split("\n")
        row, column, agent = agent_of(rows)
        parts = parts_of(options, observed[index])
        check_end(parts, worlds, index, agent)
        window = parts["window"].reshape(5, 5, len(symbols))
        blocks = parts["blocks"].reshape(5, 5, len(symbols))
        for i, j, k in np.ndindex(window.shape):
            seen = symbol_at(rows, row - 2 + i, column - 2 + j)
            assert window[i, j, k] == (seen == symbols[k])
            top, left = row - 12 + 5 * i, column - 12 + 5 * j
            block = {symbol_at(rows, top + r, left + c) for r in range(5) for c in range(5)}
            assert blocks[i, j, k] == (symbols[k] in block)
        assert (blocks[2, 2] == window.max((0, 1))).all()


@pytest.mark.parametrize("given", OPTIONS)
def test_grid(given):
    options = CraftOptions(**{"time_limit": 100, "observation": "grid", **given})
    worlds = walked(options)
    for index, observed in enumerate(worlds.observe()):
        rows = worlds.text(index).split("\n")
        parts = parts_of(options, observed)
        row, column, agent = agent_of(rows)
        check_end(parts, worlds, index, agent)
        cells = parts["map"].reshape(options.size, options.size, -1)
        expected = [
            [[float(s == known) for known in "#ow" + options.kinds] for s in line] for line in rows
        ]
        assert cells.tolist() == expected
        place = parts["place"].reshape(options.size, options.size)
        assert place[row, column] == 1 and place.sum() == 1


def test_observations_of_different_tasks_have_the_same_layout():
    one, other = CraftOptions("AC"), CraftOptions("DCBA", reward="dense")
    assert one.layout() == other.layout() and one.observation_size == 358


def test_an_array_is_written_over():
    worlds = walked(CraftOptions())
    expected = worlds.observe()
    filled = np.full_like(expected, 7.0)
    assert worlds.observe(filled) is filled and (filled == expected).all()


def test_pictures_show_what_is_there():
    options = CraftOptions("A", 6, "ABCD", workshops=1, obstacles=1)
    worlds = CraftWorlds(options, 1)
    tips = {"^": (4, 12), "v": (19, 12), "<": (12, 4), ">": (12, 19)}
    for agent, tip in tips.items():
        text = f"######\n#A...#\n#.Bow#\n#..{agent}.#\n#C..D#\n######"
        worlds.set_map(0, text)
        picture = draw_picture(worlds, 0)
        assert picture.shape == (6 * CELL, 6 * CELL, 3) and picture.dtype == np.uint8
        colours = {}
        for row, line in enumerate(text.split("\n")):
            for column, symbol in enumerate(line):
                colour = picture[row * CELL + 12, column * CELL + 12]
                colours.setdefault(symbol, set()).add(tuple(colour))
        assert all(len(same) == 1 for same in colours.values())
        assert len({colour for same in colours.values() for colour in same}) == len(colours) == 9
        cell = picture[3 * CELL : 4 * CELL, 3 * CELL : 4 * CELL]
        red = (cell == AGENT).all(2)
        assert red[tip] and red[23 - tip[0], 23 - tip[1]]
        towards = [1 if at > 12 else -1 if at < 11 else 0 for at in tip]
        ahead = (np.argwhere(red) - 11.5) @ towards
        assert (ahead < 0).sum() > 2 * (ahead > 0).sum()  # broad behind, narrow ahead
