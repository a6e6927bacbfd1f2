"""Trajectories and frames of episodes show what they are told to."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from fairseq_struct.pages.craft.frames import Frame, frames_page, write_gif
from fairseq_struct.pages.craft.trajectory import trajectory
from fairseq_struct.pages.drawing.rows import Row
from fairseq_struct.pages.drawing.shapes import BLUE, RED, Box, Label, Line
from fairseq_struct.pages.drawing.text import width_of
from fairseq_struct.pages.writing import write_pictures

ACTIONS = ["up", "use", "<left>", "use"]
ENDS = [0.0, 0.25, 1.0, 0.5]
OPTIONS = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.2, 0.8]]
SUBTASKS = ["wood", "wood", "iron", "get very much grass"]


def of(kind, picture):
    return [shape for shape in picture.shapes if isinstance(shape, kind)]


def label(picture, text):
    (found,) = (one for one in of(Label, picture) if one.text == text)
    return found


def test_bars_are_as_high_as_ends_are_likely():
    drawn = trajectory(ACTIONS, ENDS, OPTIONS, SUBTASKS)
    bars = [box for box in of(Box, drawn) if box.colour == RED]
    full = max(bar.height for bar in bars)
    assert [bar.height / full for bar in bars] == pytest.approx(ENDS)
    assert len({bar.y + bar.height for bar in bars}) == 1  # all stand on one line
    assert [bar.hint.rpartition(" ")[2] for bar in bars] == ["0.000", "0.250", "1.000", "0.500"]
    assert "step 3 (<left>)" in bars[2].hint


def test_cells_are_as_dark_as_options_are_probable():
    drawn = trajectory(ACTIONS, ENDS, OPTIONS, SUBTASKS, ["first", "second"])
    cells = [box for box in of(Box, drawn) if box.colour == BLUE]
    rows, columns = (sorted({getattr(box, side) for box in cells}) for side in "yx")
    assert (len(rows), len(columns)) == (2, 4)
    for cell in cells:
        option, step = rows.index(cell.y), columns.index(cell.x)
        assert cell.shade == pytest.approx(OPTIONS[step][option])
        assert cell.hint.startswith(["first", "second"][option])
    assert rows[0] < label(drawn, "first").y < rows[1] < label(drawn, "second").y
    # Names, bars and cells of a step lie below each other.
    middles = [x + cells[0].width / 2 for x in columns]
    names = [one.x for one in of(Label, drawn) if one.text in ACTIONS]
    assert names == pytest.approx(middles)
    bars = [box for box in of(Box, drawn) if box.colour == RED]
    assert [bar.x + bar.width / 2 for bar in bars] == pytest.approx(middles)


def test_subtasks_stand_below_their_steps():
    drawn = trajectory(ACTIONS, ENDS, OPTIONS, SUBTASKS)
    cells = sorted({(box.x, box.x + box.width) for box in of(Box, drawn) if box.colour == BLUE})
    expected = [(cells[0][0], cells[1][1]), cells[2], cells[3]]
    for line, (left, right) in zip(of(Line, drawn), expected, strict=True):
        assert left <= line.x1 < left + 4 and right - 4 < line.x2 <= right
    # The last name has no room beside that of the step before: it goes to the next line.
    wood, iron, grass = (label(drawn, name) for name in ("wood", "iron", SUBTASKS[3]))
    assert wood.y == iron.y < grass.y <= drawn.height
    assert grass.x + width_of(grass.text) / 2 <= drawn.width


def test_without_options_subtasks_or_names():
    drawn = trajectory(ACTIONS, np.array(ENDS))
    assert not [box for box in of(Box, drawn) if box.colour == BLUE] and not of(Line, drawn)
    partly = trajectory(ACTIONS, ENDS, subtasks=["", "wood", "wood", ""])
    assert len(of(Line, partly)) == 1
    named = trajectory(ACTIONS, ENDS, np.array(OPTIONS))
    assert label(named, "option 1") and label(named, "option 2")
    file = io.BytesIO()
    write_pictures(
        file, ".png", [Row("", [("", trajectory(ACTIONS, ENDS, OPTIONS, SUBTASKS))])], ""
    )
    assert file.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (([], []), "needs a step"),
        ((ACTIONS, ENDS[:3]), "ends of 3 steps are not those of 4"),
        ((ACTIONS, []), "ends of 0 steps"),
        ((ACTIONS, ENDS, OPTIONS[:1]), "options of 1 steps"),
        ((ACTIONS, ENDS, [*OPTIONS[:3], [1.0]]), "other options than option 1, option 2"),
        ((ACTIONS, ENDS, OPTIONS, ["wood"]), "subtasks of 1 steps"),
        ((ACTIONS, ENDS, OPTIONS, [], ["one"]), "other options than one"),
    ],
)
def test_what_is_no_trajectory(values, told):
    with pytest.raises(ValueError, match=told):
        trajectory(*values)


def frames_of(count=4, side=3):
    """Frames of few colours that all differ."""
    draw = np.random.default_rng(3)
    return [
        Frame(draw.choice([0, 90, 255], (side, side, 3)).astype(np.uint8), f"{place}: <use> & go")
        for place in range(count)
    ]


def gif_of(frames, **options):
    file = io.BytesIO()
    write_gif(file, frames, **options)
    return Image.open(io.BytesIO(file.getvalue()))


def test_an_animation_shows_ends_and_options_as_bars():
    """The first level is red, others are blue, and a bar is as long as its value says."""
    blank = np.full((20, 90, 3), 255, np.uint8)
    levels = [("e", 0.5), ("option 0", 1.0), ("option 1", 0.0)]
    image = gif_of([Frame(blank, "1: go", levels), Frame(blank, "end")])
    assert image.height == 20 + 4 * 16
    pixels = np.asarray(image.convert("RGB")).astype(int)
    red = (pixels[..., 0] - pixels[..., 2] > 80).any(0).sum()
    blue = (pixels[..., 2] - pixels[..., 0] > 60).any(0).sum()
    assert (red, blue) == (31, 61)
    image.seek(1)
    later = np.asarray(image.convert("RGB")).astype(int)
    assert abs(later[..., 0] - later[..., 2]).max() < 40


def test_a_gif_shows_every_frame_exactly():
    frames = frames_of()
    image = gif_of(frames, seconds=0.25, scale=4)
    assert image.n_frames == 4 and image.info["loop"] == 0
    strips = set()
    for place, frame in enumerate(frames):
        image.seek(place)
        pixels = np.asarray(image.convert("RGB"))
        assert image.info["duration"] == 250
        large = np.kron(frame.pixels, np.ones((4, 4, 1), np.uint8))
        assert (pixels[:12, :12] == large).all()
        title = pixels[12:]
        assert set(np.unique(title)) == {0, 255}
        assert (title[:, -2:] == 255).all() and pixels.shape[1] > 12  # wide enough for the title
        strips.add(title.tobytes())
    assert len(strips) == 4


def test_a_step_that_changes_nothing_lasts_as_long_as_others():
    first, second, *_ = frames_of()
    image = gif_of([first, first, second], seconds=0.2)
    durations = []
    for place in range(image.n_frames):
        image.seek(place)
        durations.append(image.info["duration"])
    assert sum(durations) == 600 and durations[-1] == 200


def test_a_page_has_every_frame_and_its_text():
    frames = frames_of()
    drawn = trajectory(ACTIONS, ENDS)
    page = frames_page(frames, "A & B", "x < y", drawn, seconds=0.5)
    encoded = re.findall(r'alt="([^"]+)" src="data:image/png;base64,([^"]+)"', page)
    for frame, (text, content) in zip(frames, encoded, strict=True):
        assert text == frame.title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert (np.asarray(Image.open(io.BytesIO(base64.b64decode(content)))) == frame.pixels).all()
        assert f"<li>{text}</li>" in page and f"<figcaption>{text}</figcaption>" in page
    assert 'max="3"' in page and "setInterval(next, 500)" in page
    assert "A &amp; B" in page and "x &lt; y" in page and drawn.svg() in page
    assert "http" not in page and "<use>" not in page


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        ([], "needs a frame"),
        ([*frames_of(1), *frames_of(1, side=2)], "different sizes"),
        ([Frame(np.zeros((2, 2, 3)), "")], "must be bytes"),
        ([Frame(np.zeros((2, 2), np.uint8), "")], "must be bytes"),
        ([Frame(np.zeros((0, 2, 3), np.uint8), "")], "must be bytes"),
    ],
)
def test_what_are_no_frames(frames, told):
    file = io.BytesIO()
    with pytest.raises(ValueError, match=told):
        write_gif(file, frames)
    with pytest.raises(ValueError, match=told):
        frames_page(frames, "")
    assert not file.getvalue()
