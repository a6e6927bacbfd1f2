"""Learning curves: means and ranges of seeds, and where they are drawn."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from fairseq_struct.pages.curves.learning_curves import (
    COLOURS,
    Panel,
    _figure,
    mean_and_range,
    write_learning_curves,
)


def test_seeds_are_compared_where_all_of_them_are():
    found = mean_and_range([([0, 2, 6], [0, 4, 4]), ([1, 3], [1, 3])])
    assert found.x.tolist() == [1, 2, 3]
    assert found.mean.tolist() == [1.5, 3, 3.5]
    assert found.lowest.tolist() == [1, 2, 3]
    assert found.highest.tolist() == [2, 4, 4]


def test_one_seed_is_its_own_mean_and_range():
    x, y = [1, 5, 7], [3.0, 0.5, 2.0]
    found = mean_and_range([(x, y)])
    assert found.x.tolist() == x
    assert found.mean.tolist() == found.lowest.tolist() == found.highest.tolist() == y


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([], "needs a seed"),
        ([([1], [1]), ([], [])], "seed 2 has 0 values of x and 0 of y"),
        ([([1, 2], [1])], "seed 1 has 2 values of x and 1 of y"),
        ([([1, 2], [1, np.nan])], "seed 1, y: number 2 is nan, not finite"),
        ([([1, 1], [1, 2])], "x of seed 1 does not increase"),
        ([([0, 1], [0, 1]), ([2, 3], [0, 1])], "starts at 2, where another has stopped, at 1"),
    ],
)
def test_what_is_no_learning_curve(runs, told):
    with pytest.raises(ValueError, match=told):
        mean_and_range(runs)


def png_of(panels, title=""):
    file = io.BytesIO()
    write_learning_curves(file, panels, title)
    file.seek(0)
    return imread(file)[..., :3]


def places_of(pixels, colour, shade=1.0):
    """Rows and columns of the pixels that have a colour, or its shade on white."""
    wanted = np.array([1 + shade * (value - 1) for value in to_rgb(colour)])
    return np.nonzero(abs(pixels - wanted).max(2) < 0.01)


def test_lines_are_means_and_shades_are_ranges():
    high = [([0, 1], [0.8, 0.8]), ([0, 1], [1.0, 1.0])]
    low = [([0, 1], [0.0, 0.0]), ([0, 1], [0.4, 0.4])]
    pixels = png_of([Panel("a", "x", "y", {"high": high, "low": low}, (-0.5, 1.5))])
    pixels = pixels[: int(0.8 * len(pixels))]  # without the legend
    rows = []
    for colour in COLOURS[:2]:
        line, shade = (places_of(pixels, colour, part)[0] for part in (1.0, 0.2))
        middle = np.median(line)
        assert middle == pytest.approx((shade.min() + shade.max()) / 2, abs=3)
        rows.append((middle, shade.max() - shade.min()))
    assert rows[0][0] < rows[1][0]
    assert rows[1][1] == pytest.approx(2 * rows[0][1], abs=6)
    # From mean 0.9 to mean 0.2 is 0.7, from 0.0 to 0.4 is the lower shade.
    assert (rows[1][0] - rows[0][0]) / rows[1][1] == pytest.approx(0.7 / 0.4, abs=0.1)


def test_a_name_has_one_colour_in_all_panels(monkeypatch):
    run = ([0, 20_000], [0.0, 1.0])
    panels = [
        Panel("$a", "steps", "y", {"one": [run], "two": [run] * 3}),
        Panel("b", "x$", "y", {"two": [run] * 2, "three": [([1], [0.5])]}),
    ]
    seen = []
    monkeypatch.setattr(
        "fairseq_struct.pages.curves.learning_curves.save_png",
        lambda figure, file: seen.append(figure),
    )
    write_learning_curves(io.BytesIO(), panels, "t$")
    (figure,) = seen
    left, right = figure.axes
    colours = [[line.get_color() for line in axes.lines] for axes in (left, right)]
    assert colours == [[*COLOURS[:2]], [*COLOURS[1:3]]]
    assert right.lines[1].get_marker() == "o"  # a line of one point would not be seen
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["one (1 seed)", "two (2 to 3 seeds)", "three (1 seed)"]
    assert (left.get_title(), left.get_xlabel(), left.get_ylabel()) == ("$a", "steps", "y")
    assert left.xaxis.get_major_formatter()(20_000) == "20k"
    assert right.xaxis.get_major_formatter()(20_000) == "20k"


def test_more_names_than_colours_have_other_lines(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "fairseq_struct.pages.curves.learning_curves.save_png",
        lambda figure, file: seen.append(figure),
    )
    curves = {str(place): [([0, 1], [0, place])] for place in range(len(COLOURS) + 1)}
    write_learning_curves(io.BytesIO(), [Panel("", "", "", curves)])
    lines = seen[0].axes[0].lines
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(curves)


def test_panels_stand_beside_each_other():
    panel = Panel("a", "x", "y", {"one": [([0, 1], [0, 1])]})
    one, three = png_of([panel]), png_of([panel] * 3)
    assert three.shape[0] == one.shape[0]
    assert three.shape[1] == pytest.approx(3 * one.shape[1], abs=3)  # dots are whole
    columns = places_of(three, COLOURS[0])[1]
    thirds = np.histogram(columns, 3, (0, three.shape[1]))[0]
    assert (thirds > 0).all()


def test_panels_without_curves_and_bad_ones_are_refused_before_writing():
    good = {"one": [([0, 1], [0, 1])]}
    bad = {"two": [([0, 0], [0, 1])]}
    for panels, told in (
        ([], "need a panel"),
        ([Panel("a", "x", "y", good), Panel("b", "x", "y", {})], "every panel a curve"),
        ([Panel("a", "x", "y", good), Panel("b", "x", "y", bad)], "b, two: x of seed 1"),
    ):
        file = io.BytesIO()
        with pytest.raises(ValueError, match=told):
            write_learning_curves(file, panels)
        assert not file.getvalue()


@pytest.mark.parametrize("x", [[3], [1, 2], [1, 2, 3], [78, 156, 234, 600], [1000, 2000]])
def test_updates_and_epochs_are_whole(x):
    figure = _figure(
        [Panel("", "updates", "loss", {"one": [(x, [1.0] * len(x))]})], "", "range", 72
    )
    ticks = figure.axes[0].get_xticks()
    assert len(ticks) and all(tick == round(tick) for tick in ticks)
