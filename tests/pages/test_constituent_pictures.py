"""Constituency trees: straight branches around all labels, distances on a scale, gold beside."""

from xml.etree import ElementTree

import pytest
from drawn_shapes import assert_to_be_read, of
from nltk import Tree

from fairseq_struct.errors import InputError
from fairseq_struct.pages import constituency_svg
from fairseq_struct.pages.constituents.constituent_picture import (
    constituent_picture,
    spans_and_labels,
)
from fairseq_struct.pages.drawing.shapes import GREEN, RED, Box, Label, Line
from fairseq_struct.pages.drawing.text import width_of

TREE = Tree.fromstring("(S (WHADVP-LONG (X a)) (VP (V <b>) (NP (D c) (N d))))")


def of_tree(tree):
    words, spans, labels = spans_and_labels(tree)
    return constituent_picture(words, spans, labels=labels)


def test_a_labelled_tree():
    picture = of_tree(TREE)
    assert_to_be_read(picture)
    labels = {label.text: label for label in of(Label, picture)}
    assert set(labels) == {*"SXVD", "WHADVP-LONG", "VP", "NP", "N", "a", "<b>", "c", "d"}
    assert labels["S"].y < labels["VP"].y < labels["NP"].y < labels["N"].y < labels["d"].y
    assert len({labels[word].y for word in TREE.leaves()}) == 1
    assert labels["X"].x == labels["WHADVP-LONG"].x == labels["a"].x
    for line in of(Line, picture):  # branches go straight, around all labels
        assert line.x1 == line.x2 or line.y1 == line.y2
        for label in labels.values():
            inside = label.y - 12 < max(line.y1, line.y2) and min(line.y1, line.y2) < label.y
            half = width_of(label.text) / 2
            assert not (inside and min(line.x1, line.x2) - half < label.x < max(line.x1, line.x2)
                        + half)  # fmt: skip


def test_a_tree_of_one_word_and_a_deep_one():
    single = of_tree(Tree("N", ["a"]))
    assert sorted(label.text for label in of(Label, single)) == ["N", "a"]
    assert not of(Line, constituent_picture(["a"], []))
    tree = Tree("X", ["w"])
    for _ in range(800):
        tree = Tree("Y", [tree, "v"])
    assert len(of(Label, of_tree(tree))) == 1602


def test_spans_in_any_order_are_one_tree():
    words = list("abcde")
    spans = [(0, 5), (0, 2), (2, 5), (3, 5)]
    expected = constituent_picture(words, spans)
    for other in (spans[::-1], [*spans, (2, 5), (1, 2)]):  # twice, and of one word
        assert constituent_picture(words, other) == expected
    bars = [line for line in of(Line, expected) if line.y1 == line.y2]
    assert len(bars) == 4


def test_distances_are_bars_on_a_scale():
    words, distances = list("abc"), [0.5, 2.0, 1.0]
    picture = constituent_picture(words, [(0, 3), (1, 3)], distances=distances)
    bars = of(Box, picture)
    assert [bar.height / 23 for bar in bars] == pytest.approx([0.5, 2.0, 1.0])
    assert len({bar.y + bar.height for bar in bars}) == 1  # they stand on zero
    assert {label.text for label in of(Label, picture)} == {*words, "0", "2"}
    assert_to_be_read(picture)
    gaps = constituent_picture(words, [(0, 3)], distances=[-1.0, 3.0])
    places = {label.text: label.x for label in of(Label, gaps)}
    assert [bar.hint for bar in of(Box, gaps)] == ["a | b: -1.000", "b | c: 3.000"]
    assert places["a"] < of(Box, gaps)[0].x < places["b"] < of(Box, gaps)[1].x < places["c"]
    assert {"-1", "0", "3"} <= set(places)
    near = of(Box, constituent_picture(words, [(0, 3)], distances=[57.0, 57.2, 57.1]))
    assert 0 < near[0].height < near[2].height < near[1].height


def test_what_differs_from_gold_is_coloured_and_counted():
    words = list("abcdef")
    found, gold = [(0, 6), (0, 2), (2, 6), (3, 6)], [(0, 6), (0, 2), (2, 5), (2, 4)]
    picture = constituent_picture(words, found, gold=gold)
    lines = of(Line, picture)
    assert picture.differences == 4  # (2, 6) and (3, 6) are wrong, (2, 5) and (2, 4) are missed
    assert len([line for line in lines if line.colour == RED and line.y1 == line.y2]) == 2
    green = [line for line in lines if line.colour == GREEN and line.y1 == line.y2]
    assert len(green) == 2
    short, long = sorted(green, key=lambda line: line.x2 - line.x1)
    assert short.y1 < long.y1 and long.x1 == short.x1  # what holds more lies lower
    texts = [label.text for label in of(Label, picture)]
    assert "2 of 3 spans wrong, 2 of 3 missed" in texts
    assert constituent_picture(words, gold, gold=gold).differences == 0


def test_the_svg_is_a_file_by_itself():
    words = ["a", "<b>", "c&"]
    drawn = constituency_svg(words, [(0, 3), (1, 3)], labels=["S", "VP"], title="T")
    root = ElementTree.fromstring(drawn)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts) == sorted([*words, "S", "VP", "T"])
    assert root.get("aria-label") == "T. Constituency tree of: a <b> c&"


@pytest.mark.parametrize(
    ("words", "spans", "options", "message"),
    [
        ([], [], {}, "at least one"),
        (["a", "b"], [(0, 3)], {}, r"spans: \(0, 3\) is not within 2 words"),
        (list("abc"), [(0, 2), (1, 3)], {}, r"\(0, 2\) and \(1, 3\) cross each other"),
        (["a", "b"], [(0, 2)], {"labels": []}, "labels: 0 for 1 spans"),
        (["a", "b"], [(0, 2)], {"gold": [(1, 1)]}, "gold: "),
        (list("abc"), [], {"distances": [1.0]}, "distances: 1 for 3 words"),
        (["a", "b"], [], {"distances": [1.0, float("inf")]}, "number . is .*, not finite"),
    ],
)
def test_wrong_input(words, spans, options, message):
    with pytest.raises(InputError, match=message):
        constituency_svg(words, spans, **options)
