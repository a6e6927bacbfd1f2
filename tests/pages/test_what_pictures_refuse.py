"""What no picture can show ends in one error that says what and where; arrays and tensors serve."""

import io
from math import inf, nan

import numpy as np
import pytest
import torch

from fairseq_struct import pages
from fairseq_struct.errors import InputError
from fairseq_struct.pages.curves.learning_curves import Panel
from fairseq_struct.pages.dependencies.packed_matrix import packed_matrix

AB = ["a", "b"]
HALVES = [[0.5, 0.5], [0.5, 0.5]]
TREE = {"words": ["a", "b", "c"], "spans": [(0, 3)]}


def curve(*runs):
    return pages.learning_curves_svg([Panel("", "x", "loss", {"one": runs})])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: pages.attention_svg(AB, [[0.5, nan], [1, 0]]),
         "weights, row 1: number 2 is nan, not finite"),
        (lambda: pages.attention_svg(AB, [[0.5, 0.5], [3, 0]]),
         "weights, row 2: number 1 is 3, not from 0 to 1"),
        (lambda: pages.attention_svg(AB, [[0.5, 0.5]]),
         "weights: 2 rows of 2 numbers are needed, not rows of 2"),
        (lambda: pages.attention_svg(AB, [["x", "y"]] * 2), "weights, row 1: not all are numbers"),
        (lambda: pages.attention_svg(AB, 3), "weights: rows of numbers are needed"),
        (lambda: pages.attention_svg([], []), "words: a picture needs at least one"),
        (lambda: pages.attention_svg("ab", HALVES), "words: a list of words is needed"),
        (lambda: packed_matrix(AB, [[0.5, 0.5], [nan, 0]]), "the matrix, row 2: number 1 is nan"),
        (lambda: pages.memory_svg(AB, [[0, 1], [inf, 0]], [(0, 2)]),
         "pointers, row 2: number 1 is inf, not finite"),
        (lambda: pages.memory_svg(AB, [[0, 1], [1]], [(0, 2)]),
         "pointers: 2 rows of numbers are needed, not rows of 2, 1"),
        (lambda: pages.memory_svg(AB, [[], []], [(0, 2)]), "pointers: 2 rows of numbers are need"),
        (lambda: pages.memory_svg(AB, HALVES, [(0, 3)]), r"spans: \(0, 3\) is not within 2 words"),
        (lambda: pages.confusion_svg(AB, [[1, nan], [0, 1]]), "counts, row 1: number 2 is nan"),
        (lambda: pages.confusion_svg(AB, [[1, -1], [0, 1]]), "counts: not all are whole numbers"),
        (lambda: pages.confusion_svg(AB, [[1, 0.5], [0, 1]]), "counts: not all are whole numbers"),
        (lambda: pages.confusion_svg(AB, [[1, 2]]), "counts: 2 rows of 2 numbers are needed"),
        (lambda: pages.confusion_svg([], []), "labels: a table needs at least one"),
        (lambda: pages.dependency_svg(AB, [2, nan]), "heads: not all are int values"),
        (lambda: pages.dependency_svg(AB, [2, inf]), "heads: not all are int values"),
        (lambda: pages.dependency_svg(AB, [2, -0.5]), "heads: not all are int values"),
        (lambda: pages.dependency_svg(AB, [2, 0], gold=[2.5, 0]), "gold heads: not all are int"),
        (lambda: pages.constituency_svg(AB, [(0, 1.5)]), r"spans: number 1 is no pair \(start, e"),
        (lambda: pages.dependency_svg(AB, [2, 0], probabilities=[1, nan]),
         "probabilities: number 2 is nan, not finite"),
        (lambda: pages.dependency_tikz(AB, [2, 0], probabilities=[1, 2]),
         "probabilities: number 2 is 2, not from 0 to 1"),
        (lambda: pages.constituency_svg(**TREE, distances=[1, nan, 2]),
         "distances: number 2 is nan, not finite"),
        (lambda: pages.constituency_svg(**TREE, distances=[1e308, -1e308, 2]),
         "distances: no scale goes from -1e"),
        (lambda: pages.constituency_svg(**TREE, distances=["x", 1, 2]),
         "distances: not all are numbers"),
        (lambda: pages.constituency_tikz(AB, [(0, nan)]), r"spans: number 1 is no pair \(start, e"),
        (lambda: pages.constituency_svg(AB, [(0, 1, 2)]), r"spans: number 1 is no pair \(start, e"),
        (lambda: pages.constituency_svg(AB, [(0, 2)], gold=[3]), "gold: number 1 is no pair"),
        (lambda: curve(([1, 2], [nan, 1])), "loss, one: seed 1, y: number 1 is nan, not finite"),
        (lambda: curve(([1, 2], ["x", 1])), "loss, one: seed 1, y: not all are numbers"),
        (lambda: curve(([2, 1], [1, 1])), "loss, one: x of seed 1 does not increase"),
        (lambda: pages.learning_curves_svg([]), "learning curves need a panel"),
        (lambda: pages.write_pictures(io.BytesIO(), ".pdf", []), "a picture ends in one of .html"),
    ],
)  # fmt: skip
def test_one_error_says_what_and_where(draw, message):
    with pytest.raises(InputError, match=f"^{message}") as caught:
        draw()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_arrays_and_tensors_are_drawn_like_lists(kind):
    for draw in (
        lambda of: pages.attention_svg(AB, of(HALVES)),
        lambda of: pages.memory_svg(AB, of(HALVES), of([(0, 2)])),
        lambda of: pages.confusion_svg(AB, of([[3, 1], [0, 2]])),
        lambda of: pages.constituency_svg(["a", "b"], of([(0, 2)]), distances=of([0.5, 1.5])),
        lambda of: pages.dependency_svg(AB, of([2, 0]), probabilities=of([0.5, 0.25])),
        lambda of: curve((of([1.0, 2.0]), of([3.0, 2.5]))),
    ):
        assert draw(kind) == draw(list)
