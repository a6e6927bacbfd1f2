"""Labelled scores of constituents."""

import pytest

from fairseq_struct.metrics.labelled_bracketing import LabelledScores

GOLD = [("S", (0, 5)), ("NP", (0, 2)), ("NP+NN", (0, 1)), ("VP", (2, 5)), ("NP", (3, 5))]


def scored(predicted, gold=GOLD, length=5):
    scores = LabelledScores()
    scores.add(predicted, gold, length)
    return scores.matched, scores.predicted, scores.gold


@pytest.mark.parametrize(
    ("predicted", "counts"),
    [
        (GOLD, (4, 4, 4)),
        ([], (0, 0, 4)),
        ([("S", (0, 5)), ("VP", (0, 2)), ("VP", (2, 5))], (2, 3, 4)),  # a wrong label
        ([("SBAR", (0, 5))], (0, 1, 4)),  # the whole sentence counts
        ([("NP", (1, 2)), ("VP", (2, 3))], (0, 0, 4)),  # single words do not
        ([("NP", (0, 2)), ("NP", (0, 2))], (1, 2, 4)),  # once too often
        ([("S+NP", (0, 5)), ("S+VP", (2, 5))], (2, 4, 4)),  # joined labels
    ],
)
def test_counts_by_hand(predicted, counts):
    assert scored(predicted) == counts


def test_a_constituent_counts_as_often_as_it_occurs():
    twice = [("NP", (0, 2)), ("NP", (0, 2)), ("S", (0, 2))]
    assert scored([("NP+NP", (0, 2))], twice, 2) == (2, 2, 3)
    assert scored([("S+NP+NP", (0, 2))], twice, 2) == (3, 3, 3)
    assert scored([("NP", (0, 2))], [("NP+NP", (0, 2))], 2) == (1, 1, 2)


def test_f1_is_that_of_the_corpus():
    scores = LabelledScores()
    assert scores.f1_labelled == 100
    scores.add(GOLD, GOLD, 5)
    assert scores.f1_labelled == 100
    scores.add([("X", (0, 2))], [("NP", (0, 2)), ("S", (0, 3))], 3)
    assert scores.f1_labelled == pytest.approx(200 * 4 / (5 + 6))


@pytest.mark.parametrize("span", [(0, 6), (-1, 2), (3, 3), (4, 2)])
def test_spans_outside_of_the_sentence(span):
    with pytest.raises(ValueError, match="is not within 5 words"):
        scored([("NP", span)])
    with pytest.raises(ValueError, match="is not within 5 words"):
        scored([], [("NP", span)])
