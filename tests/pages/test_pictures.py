"""Pictures show what they are told to, as SVG and as PNG."""

import base64
import io
import re
from xml.etree import ElementTree

import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from fairseq_struct.pages import constituency_svg, dependency_svg, dependency_tikz
from fairseq_struct.pages.constituents.constituent_picture import constituent_picture
from fairseq_struct.pages.drawing.rows import Row
from fairseq_struct.pages.drawing.shapes import BLUE, RED, Box, Dot, Image, Label, Line, Picture
from fairseq_struct.pages.drawing.text import width_of
from fairseq_struct.pages.grids.image_grid import image_grid
from fairseq_struct.pages.grids.memory_grid import memory_grid
from fairseq_struct.pages.html.gallery import gallery_page
from fairseq_struct.pages.writing import write_pictures

WORDS = ["a", "<b>", "c&", "$\\d{"]
# Slot N is the last one; the first slot is never reached.
POINTERS = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.75, 0.25], [0.001, 0.199, 0.8]]
IN_USE = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.75], [1.0, 0.2]]  # of N and of N - 1, by step
SPANS = [(0, 4), (0, 3), (1, 3)]


def of(kind, picture):
    return [shape for shape in picture.shapes if isinstance(shape, kind)]


def test_a_cell_for_each_slot_and_step_is_as_dark_as_the_slot_is_in_use():
    grid = memory_grid(WORDS, POINTERS, SPANS)
    boxes = of(Box, grid)
    assert len(boxes) == 8
    top = sorted({box.y for box in boxes})
    columns = sorted({box.x for box in boxes})
    assert len(top) == 2 and len(columns) == 4
    darkest = max(box.shade for box in boxes)
    for box in boxes:
        expected = IN_USE[columns.index(box.x)][top.index(box.y)]
        assert box.shade / darkest == pytest.approx(expected)
        assert f"in use {expected:.3f}" in box.hint
    # Cells touch each other and hold the words in their middle.
    ends = [next(box.x + box.width for box in boxes if box.x == x) for x in columns]
    assert ends[:-1] == pytest.approx(columns[1:]) and ends[-1] <= grid.width
    words = [label for label in of(Label, grid) if label.text in WORDS]
    assert [label.text for label in words] == WORDS
    middles = [(x + end) / 2 for x, end in zip(columns, ends, strict=True)]
    assert [label.x for label in words] == pytest.approx(middles)
    assert [one.text for one in of(Label, grid) if one not in words] == ["N", "N−1"]


def test_the_area_of_a_dot_is_the_probability_of_the_pointer():
    grid = memory_grid(WORDS, POINTERS, SPANS)
    boxes, dots = of(Box, grid), of(Dot, grid)
    full = max(dot.radius for dot in dots)
    found = {}
    for dot in dots:
        (box,) = (b for b in boxes
                  if b.x < dot.x < b.x + b.width and b.y < dot.y < b.y + b.height)  # fmt: skip
        found[box.hint.rpartition("p ")[2]] = (dot.radius / full) ** 2
    assert found == pytest.approx({"1.000": 1, "0.250": 0.25, "0.750": 0.75, "0.800": 0.8,
                                   "0.199": 0.199})  # fmt: skip


def test_the_tree_stands_on_the_grid():
    grid = memory_grid(WORDS, POINTERS, SPANS)
    lines, boxes = of(Line, grid), of(Box, grid)
    leaves = [line for line in lines if line.y2 == max(one.y2 for one in lines)]
    flat = [line for line in lines if line.y1 == line.y2]
    assert len(leaves) == 4 and len(flat) == 3  # a branch for each word, a bar for each span
    assert all(line.x1 == line.x2 or line in flat for line in lines)
    middles = sorted({box.x + box.width / 2 for box in boxes})
    assert sorted(line.x2 for line in leaves) == pytest.approx(middles)
    assert max(line.y2 for line in lines) < min(box.y for box in boxes)


def test_a_sentence_of_one_word_has_one_empty_cell():
    grid = memory_grid(["a"], [[0.0, 0.0]], [])
    assert [box.shade for box in of(Box, grid)] == [0] and not of(Dot, grid)


@pytest.mark.parametrize("pointers", [POINTERS[:3], [[]] * 4])
def test_steps_that_are_not_those_of_the_words(pointers):
    with pytest.raises(ValueError, match="pointers: 4 rows of numbers are needed"):
        memory_grid(WORDS, pointers, SPANS)


def test_a_page_has_every_picture_and_escapes_text():
    grid, tree = memory_grid(WORDS, POINTERS, SPANS), constituent_picture(WORDS, SPANS)
    rows = [Row("a <b>", [("<one>", grid), ("two", tree)]), Row("c", [("", tree)])]
    page = gallery_page(rows, "A & B", "x < y")
    assert page.count("<svg ") == 3 and page.count('<div class="row">') == 2
    assert page.count("<rect ") == 8 and page.count("<circle ") == 5
    assert page.count("<path ") == 3 * len(of(Line, tree))
    for text in (
        "a &lt;b&gt;",
        "&lt;one&gt;",
        "A &amp; B",
        "x &lt; y",
        ">&lt;b&gt;</text>",
        ">c&amp;<",
    ):
        assert text in page
    assert "<b>" not in page and "http" not in page
    shades = re.findall(r'fill-opacity="([\d.]+)"', page)
    assert list(map(float, shades)) == pytest.approx([box.shade for box in of(Box, grid)])


def png_of(rows, title="A & B"):
    file = io.BytesIO()
    write_pictures(file, ".png", rows, title)
    file.seek(0)
    return imread(file)[..., :3]


def share_of(pixels, colour, shade=1.0):
    """Share of the pixels that have a colour on white."""
    wanted = [1 + shade * (value - 1) for value in to_rgb(colour)]
    return (abs(pixels - wanted).max(2) < 0.01).mean()


def test_letters_without_a_glyph_are_told_once():
    letters = "\uc0ac\uc790 \uace0\uc591"  # no font of matplotlib's own has them
    row = Row(letters, [("", Picture(20.0, 20.0, []))])
    with pytest.warns(UserWarning, match="letters have no glyph") as told:
        assert png_of([row]).any()
    assert len(told) == 1


def test_a_png_shows_the_same_shapes():
    shades = [1.0, 0.5]
    boxes = [Box(60 * i, 20, 50, 40, BLUE, shade) for i, shade in enumerate(shades)]
    picture = Picture(120, 80, [*boxes, Dot(85, 40, 15, RED), Label(60, 75, WORDS[3])])
    pixels = png_of([Row("$\\x{", [("$\\y{", picture)])])
    area = pixels.shape[0] * pixels.shape[1] / 4  # twice as many dots in both directions
    found = [share_of(pixels, BLUE, shade) * area for shade in shades]
    dot = 3.1416 * 15**2
    assert found == pytest.approx([2000, 2000 - dot], rel=0.05)
    assert share_of(pixels, RED) * area == pytest.approx(dot, rel=0.05)
    beside = png_of([Row("", [("", picture), ("", picture)])])
    below = png_of([Row("", [("", picture)])] * 2)
    assert beside.shape[1] > pixels.shape[1] and below.shape[0] > pixels.shape[0]
    for both in (beside, below):
        count = share_of(both, RED) * both.shape[0] * both.shape[1] / 4
        assert count == pytest.approx(2 * dot, rel=0.05)


@pytest.mark.parametrize("sizes", [[(40, 40)] * 200, [(14_000, 2_000)]])
def test_a_png_of_too_many_pictures_is_refused(sizes):
    rows = [Row("a", [("", Picture(*size, []))]) for size in sizes]
    with pytest.raises(ValueError, match="too large for one PNG"):
        png_of(rows)


def test_images_stand_in_their_rows_and_columns(tmp_path):
    black, white, half = [[0.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]]
    grid = image_grid([("1", [black, half]), ("2", [white, black])], ["a", "b"])
    found = {(one.x, one.y): one for one in of(Image, grid)}
    (left, right), (top, bottom) = (sorted({place[side] for place in found}) for side in (0, 1))
    assert found[left, top].pixels == black and found[right, top].pixels == half
    assert found[left, bottom].pixels == white and found[left, bottom].hint == "2, a"
    for one in found.values():
        assert one.x + one.width <= grid.width and one.y + one.height <= grid.height
    encoded = re.search(r'base64,([^"]+)"', found[right, top].svg()).group(1)
    assert imread(io.BytesIO(base64.b64decode(encoded)))[0, :, 0].tolist() == [0.0, 1.0]
    file = io.BytesIO()
    write_pictures(file, ".png", [Row("", [("", grid)])], "")
    drawn = imread(io.BytesIO(file.getvalue()))[:, :, 0]
    dark = (drawn < 0.01).mean(1)  # the upper row is dark for three quarters, the lower for a half
    assert sorted(dark[dark > 0.15])[-1] > 1.3 * sorted(dark[dark > 0.15])[0]


def test_the_names_of_rows_stand_beside_their_images():
    grid = image_grid([("what was given", [[[0.0]]])])
    (name,), (image,) = of(Label, grid), of(Image, grid)
    half = width_of("what was given") / 2
    assert name.x - half >= 0 and name.x + half <= image.x


def test_rows_of_different_lengths_are_no_grid():
    for rows, columns in ([("1", [[[0.0]]]), ("2", [])], ()), ([], ()), ([("1", [])], ["a"]):
        with pytest.raises(ValueError, match="rows with the same number"):
            image_grid(rows, columns)


def test_words_that_no_file_may_have_are_drawn_all_the_same():
    words = ["a\0b", "\x1b", "\ud800", "\ufffe", "e\u0301\tf", "😀"]
    drawn = dependency_svg(words, [2, 0, 2, 2, 2, 2], title="\x07")
    texts = [one.text for one in ElementTree.fromstring(drawn.encode()).iter()
             if one.tag.endswith("}text")]  # fmt: skip
    mark = "\ufffd"
    for word in (f"a{mark}b", mark, "e\u0301\tf", "😀"):
        assert word in texts
    ElementTree.fromstring(constituency_svg(words, [(0, 6)], labels=["\0"]).encode())
    assert f"a{mark}b" in dependency_tikz(words, [2, 0, 2, 2, 2, 2])
