"""Arcs of dependency trees: one for each word, above all that they span, no label on another."""

import itertools
import random
from xml.etree import ElementTree

import pytest
from drawn_shapes import assert_to_be_read, of

from fairseq_struct.errors import InputError
from fairseq_struct.pages import dependency_svg
from fairseq_struct.pages.dependencies.dependency_picture import dependency_picture
from fairseq_struct.pages.drawing.shapes import GREEN, RED, Arc, Label
from fairseq_struct.pages.drawing.text import width_of

WORDS = "The company , which makes cars , sold its division yesterday .".split()
HEADS = [2, 8, 5, 5, 2, 5, 5, 0, 10, 8, 8, 8]
LABELS = "det nsubj punct nsubj acl:relcl obj punct root nmod:poss obj obl:tmod punct".split()
SVG = "{http://www.w3.org/2000/svg}"


def any_tree(n, rng):
    """Heads of any tree with one root, most of them with arcs that cross."""
    order = rng.sample(range(1, n + 1), n)
    heads = [0] * n
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = rng.choice(order[:place])
    return heads


def span(arc):
    return min(arc.x1, arc.x2), max(arc.x1, arc.x2)


def assert_no_arc_on_another(arcs):
    """Level parts of two arcs never lie on one another, and upright ones neither."""
    for one, other in itertools.combinations([arc for arc in arcs if arc.x1 != arc.x2], 2):
        (left, right), (low, high) = span(one), span(other)
        if one.height == other.height:
            assert right <= low or high <= left
        assert len({left, right, low, high}) == 4
        if low < left and right < high and (one.height > 0) == (other.height > 0):
            assert abs(other.height) > abs(one.height)


@pytest.mark.parametrize("seed", range(6))
def test_every_arc_is_drawn_once_and_above_those_that_it_spans(seed):
    rng = random.Random(seed)
    n = rng.randint(2, 14)
    words = [f"w{place}" * rng.randint(1, 4) for place in range(n)]
    heads, gold = any_tree(n, rng), any_tree(n, rng)
    labels = [rng.choice(["nsubj", "x", "a:very:long:relation"]) for _ in words]
    picture = dependency_picture(words, heads, labels=labels, gold=gold, key=False)
    arcs = of(Arc, picture)
    above = [arc for arc in arcs if arc.height > 0]
    names = ["root", *words]
    assert sorted(arc.hint for arc in above) == sorted(
        f"{names[head]} → {word} ({label})"
        for word, head, label in zip(words, heads, labels, strict=True)
    )
    assert_no_arc_on_another(above)
    assert_no_arc_on_another([arc for arc in arcs if arc.height < 0])
    differ = sum(one != other for one, other in zip(heads, gold, strict=True))
    assert picture.differences == differ == len(arcs) - len(above)
    assert all(arc.colour == GREEN for arc in arcs if arc.height < 0)
    assert sum(arc.colour == RED for arc in above) == differ


def test_labels_have_room():
    picture = dependency_picture(WORDS, HEADS, labels=LABELS)
    assert_to_be_read(picture)
    texts = {label.text: label for label in of(Label, picture)}
    assert set(texts) == {*WORDS, *LABELS}
    # A label is narrower than its arc, and stands on it.
    arcs = {arc.hint: arc for arc in of(Arc, picture)}
    arc = arcs["sold → company (nsubj)"]
    (label,) = [one for one in of(Label, picture) if one.text == "nsubj" and one.x == sum(
        span(arc)) / 2]  # fmt: skip
    assert width_of(label.text, label.size) < span(arc)[1] - span(arc)[0]
    assert label.y < arc.y - arc.height


def test_unlikely_arcs_are_faint():
    picture = dependency_picture(["a", "b", "c"], [2, 0, 2], probabilities=[0.0, 0.5, 1.0])
    shades = {arc.hint: arc.shade for arc in of(Arc, picture)}
    faint, middle, full = (shades[f"{arc}: {p}"] for arc, p in (
        ("b → a", "0.000"), ("root → b", "0.500"), ("b → c", "1.000")))  # fmt: skip
    assert 0 < faint < middle < full == 1 and middle == pytest.approx((faint + full) / 2)


def test_a_sentence_from_right_to_left_is_mirrored():
    left, right = ["a", "bb", "1"], ["א", "בב", "1"]
    plain, mirrored = (dependency_picture(words, [2, 0, 2]) for words in (left, right))
    places = [[label.x for label in of(Label, one)] for one in (plain, mirrored)]
    assert places[0] == sorted(places[0]) and places[1] == sorted(places[1], reverse=True)
    for arc, other in zip(of(Arc, plain), of(Arc, mirrored), strict=True):
        assert (arc.x2 - arc.x1) * (other.x2 - other.x1) <= 0 and arc.height == other.height


@pytest.mark.parametrize("words", [["Yes"], ["日本語", "の", "長" * 20], ["a" * 300, "b"],
                                   ["e\u0301" * 9, "<&>\"'", "]]>"]])  # fmt: skip
def test_words_of_all_kinds_stay_apart(words):
    heads = [0, *([1] * (len(words) - 1))]
    assert_to_be_read(dependency_picture(words, heads, labels=["dep"] * len(words)))
    root = ElementTree.fromstring(dependency_svg(words, heads))
    texts = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    for word, text in zip(words, texts, strict=True):
        assert text == word or (text.endswith(word) and "…" in text)


def test_the_svg_is_a_file_by_itself():
    drawn = dependency_svg(WORDS, HEADS, labels=LABELS, gold=[*HEADS[:-1], 2], title="A & <B>")
    root = ElementTree.fromstring(drawn)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert root.get("aria-label").startswith("A & <B>. Dependency tree of: The company")
    assert len(list(root.iter(f"{SVG}polygon"))) == len(WORDS) + 1
    words = [one for one in root.iter(f"{SVG}text") if one.text in WORDS]
    assert {one.get("fill") for one in words} == {"currentColor"}
    assert "prefers-color-scheme" in root.find(f"{SVG}style").text
    assert "1 of 12 heads differ from gold" in [one.text for one in root.iter(f"{SVG}text")]
    same = ElementTree.fromstring(dependency_svg(WORDS, HEADS, gold=HEADS))
    assert "0 of 12 heads differ from gold" in [one.text for one in same.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("words", "heads", "options", "message"),
    [
        ([], [], {}, "at least one"),
        ("a b", [0], {}, "not one string"),
        (["a", "b"], [0], {}, "heads: 1 for 2 words"),
        (["a", "b"], [0, 3], {}, "word 2 of 2 cannot have the head 3"),
        (["a", "b"], [1, 0], {}, "word 1 of 2 cannot have the head 1"),
        (["a"], [0], {"gold": [0, 1]}, "gold heads: 2 for 1 words"),
        (["a"], [0], {"labels": []}, "labels: 0 for 1 words"),
        (["a"], [0], {"probabilities": [float("nan")]}, "number . is .*, not finite"),
        (["a"], ["x"], {}, "heads: not all are int values"),
    ],
)
def test_wrong_input(words, heads, options, message):
    with pytest.raises(InputError, match=message):
        dependency_svg(words, heads, **options)
