"""Pictures of labelled trees, of steps and of units lose no letter and show what they are told."""

import io

import pytest
from drawn_shapes import assert_to_be_read, of

from fairseq_struct.pages.composition.step_grid import DrawnStep, step_grid
from fairseq_struct.pages.composition.unit_grid import unit_grid
from fairseq_struct.pages.drawing.rows import Row
from fairseq_struct.pages.drawing.shapes import RED, Box, Label
from fairseq_struct.pages.html.gallery import gallery_page
from fairseq_struct.pages.writing import write_pictures

WORDS = ["a", "<b>", "c"]
STEPS = [
    DrawnStep([((0, 1), None, 0.1), ((1, 2), None, 0.2), ((2, 3), None, 1.5)], (2, 3), "N", (1, 0)),
    DrawnStep([((0, 1), None, 0.1), ((1, 2), None, 0.2), ((2, 3), "N+VERYLONG", 0.5)], (1, 3), "VP",
              (0.25, 0.75)),
    DrawnStep([((0, 1), None, 1), ((1, 3), "VP", 1)], (0, 3), "S", (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("gold", [True, False])
def test_steps(gold):
    picture = step_grid(WORDS, STEPS, gold)
    assert_to_be_read(picture)
    texts = [label.text for label in of(Label, picture)]
    assert texts.count("a") == 5 and texts.count("c") == 3  # above, below, and while they are words
    assert {"1 N", "2 VP", "3 S", "N+VERYLONG", "0.25", "0.75", "1.00", "·"} <= set(texts)
    spans = [box for box in of(Box, picture) if box.height < 10]
    assert [box.hint for box in spans] == ["c", "<b> c", "a <b> c"]
    assert all((box.colour == RED) == gold for box in spans)
    cells = [box for box in of(Box, picture) if box.height >= 10 and "unit" not in box.hint]
    assert len(cells) == 3 + 3 + 2
    assert cells[2].shade > cells[1].shade > cells[0].shade > 0 and cells[2].shade <= 1
    assert spans[1].x - 1 == cells[4].x and spans[1].width + 2 == pytest.approx(
        cells[4].width + cells[5].width
    )
    assert cells[7].width == pytest.approx(cells[4].width + cells[5].width)


def test_steps_without_units():
    plain = [step._replace(shares=()) for step in STEPS]
    picture = step_grid(WORDS, plain, True)
    assert not [box for box in of(Box, picture) if "unit" in box.hint]
    assert picture.height < step_grid(WORDS, STEPS, True).height


def test_units():
    picture = unit_grid(["NP", "NN"], [4, 3], [[4, 0, 1], [0, 3, 3]])
    assert_to_be_read(picture)
    boxes = of(Box, picture)
    assert [round(box.shade / max(box.shade for box in boxes), 2) for box in boxes] == [
        1, 0, 0.25, 0, 1, 1,
    ]  # fmt: skip
    texts = [label.text for label in of(Label, picture)]
    assert texts == ["unit 1", "unit 2", "unit 3", "NP 4", "100", "0", "25", "NN 3", "0", "100",
                     "100"]  # fmt: skip
    with pytest.raises(ValueError, match="are not 2 tags'"):
        unit_grid(["NP", "NN"], [4], [[1]])


def test_as_page_and_as_png():
    rows = [Row("x", [("", step_grid(WORDS, STEPS, True))])]
    page = gallery_page(rows, "t")
    assert page.count("<svg ") == 1 and "&lt;b&gt;" in page
    with io.BytesIO() as file:
        write_pictures(file, ".png", rows, "t")
        assert file.getvalue().startswith(b"\x89PNG")
