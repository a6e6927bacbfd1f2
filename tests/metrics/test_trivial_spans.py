"""Predictors that read no word, against counts by hand."""

import numpy as np
import pytest

from fairseq_struct.metrics.trivial_spans import (
    SpanPrior,
    Spans,
    constant_from_right,
    place_hits,
    places_from_right,
    random_places,
    rightmost,
)

# ((a b) c) from right to left: c, b, a, (a b), and all; then a b c d: d, c, (c d), b, a, and all.
STEPS = Spans(*np.array([
    (3, 2, 3), (3, 1, 2), (3, 0, 1), (3, 0, 2), (2, 0, 2),
    (4, 3, 4), (4, 2, 3), (4, 2, 4), (3, 1, 2), (3, 0, 1), (3, 0, 3),
]).T)  # fmt: skip


def drawn_spans(number, seed):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 9, number)
    starts = draw.integers(0, lengths)
    return Spans(lengths, starts, draw.integers(starts + 1, lengths + 1))


def test_hits_by_hand():
    spans = Spans(*np.array([(6, 2, 4)] * 6).T)
    assert place_hits(np.arange(6), spans, (0, 1, 9)).T.tolist() == [
        [False, False, True, True, False, False],
        [False, True, True, True, True, False],
        [True] * 6,
    ]
    with pytest.raises(ValueError, match="window -1: must be 0 or more"):
        place_hits(np.arange(6), spans, (2, -1))


def test_places():
    lengths = np.array([5, 1, 3])
    assert rightmost(lengths).tolist() == [4, 0, 2]
    assert places_from_right(lengths, 3).tolist() == [2, 0, 0]
    many = random_places(np.repeat([1, 4], 4000), 1)
    assert not many[:4000].any()
    counts = np.bincount(many[4000:])
    assert len(counts) == 4 and abs(counts - 1000).max() < 5 * np.sqrt(750)
    assert (many == random_places(np.repeat([1, 4], 4000), 1)).all()


def test_the_best_constant_by_hand():
    """The last symbol is within 5 of the 11 spans, the second within 7, and so on."""
    hits = [place_hits(places_from_right(STEPS.lengths, d), STEPS, [0]).sum() for d in (1, 2, 3, 4)]
    assert hits == [5, 7, 5, 5]
    assert constant_from_right(STEPS, 0) == 2
    assert constant_from_right(STEPS, 9) == 1  # all of them are always right


@pytest.mark.parametrize("window", [0, 1, 2])
def test_the_best_constant_against_all_of_them(window):
    spans = drawn_spans(200, window)
    shares = {}
    for distance in range(1, 12):
        right = 0
        for length, start, end in zip(spans.lengths, spans.starts, spans.ends, strict=True):
            place = max(length - distance, 0)
            right += start - window <= place <= end - 1 + window
        shares[distance] = right
    assert constant_from_right(spans, window) == max(shares, key=shares.get)
    assert len(set(shares.values())) > 3


def test_the_prior_by_hand():
    prior = SpanPrior.of(STEPS)
    assert prior.shares(2).tolist() == [1, 1]
    assert prior.shares(3) == pytest.approx(np.array([4, 4, 2]) / 7)
    assert prior.shares(4) == pytest.approx(np.array([0, 0, 2, 2]) / 3)
    # No step has one symbol or five: then all eleven count, from the right end.
    assert prior.shares(1) == pytest.approx(np.array([5]) / 11)
    assert prior.shares(5) == pytest.approx(np.array([0, 0, 4, 7, 5]) / 11)
    assert prior.places(np.array([5, 2, 3, 4, 3])).tolist() == [3, 1, 1, 3, 1]


def test_the_prior_against_a_count():
    spans = drawn_spans(300, 5)
    prior = SpanPrior.of(spans)
    for length in range(1, 9):
        own = spans.lengths == length
        places = np.arange(length)
        inside = (spans.starts[own, None] <= places) & (places < spans.ends[own, None])
        assert prior.shares(length) == pytest.approx(inside.mean(0))
