"""Window accuracies: the place with the largest attention, in a span or near it."""

import pytest
import torch

from fairseq_struct.metrics.window_accuracy import (
    WindowAccuracy,
    sentence_sums,
    step_counts,
    window_hits,
)


def hits(attention, live, span, windows=(0, 1, 2)):
    """Of one row, live places and the span given by strings such as ``.11..``."""
    row = torch.tensor([attention], dtype=torch.float64)
    marks = [torch.tensor([[mark == "1" for mark in each]]) for each in (live, span)]
    return window_hits(row, *marks, windows)[0].tolist()


def by_definition(attention, live, span, windows):
    """A row of :func:`window_hits` in plain Python."""
    values = [value for value, is_live in zip(attention, live, strict=True) if is_live]
    gold = [inside for inside, is_live in zip(span, live, strict=True) if is_live]
    if not any(gold) or values.count(max(values)) > 1:
        return [False] * len(windows)
    place = values.index(max(values))
    return [any(gold[max(place - w, 0) : place + w + 1]) for w in windows]


@pytest.mark.parametrize(
    ("attention", "span", "expected"),
    [
        ([9, 1, 2, 3, 4, 5, 6], "11.....", [True, True, True]),
        ([1, 2, 9, 3, 4, 5, 6], "11.....", [False, True, True]),
        ([1, 2, 3, 9, 4, 5, 6], "11.....", [False, False, True]),
        ([1, 2, 3, 4, 9, 5, 6], "11.....", [False, False, False]),
        ([1, 2, 3, 4, 5, 6, 9], "...11..", [False, False, True]),
        ([1, 9, 3, 4, 5, 6, 7], "...11..", [False, False, True]),
        ([9, 1, 3, 4, 5, 6, 7], "...11..", [False, False, False]),
        ([1, 2, 3, 9, 9, 5, 6], "...11..", [False, False, False]),  # a tie within the span
        ([9, 2, 3, 9, 4, 5, 6], "...11..", [False, False, False]),
        ([0, 0, 0, 0, 0, 0, 0], "1111111", [False, False, False]),
        ([1, 2, 3, 4, 5, 6, 9], "1111111", [True, True, True]),
        ([1, 2, 3, 4, 5, 6, 9], ".......", [False, False, False]),
        ([1, 2, float("nan"), 9, 5, 6, 7], "...11..", [False, False, False]),
        ([-9, -8, -7, -1, -5, -6, -7], "...11..", [True, True, True]),
    ],
)
def test_windows_by_hand(attention, span, expected):
    assert hits(attention, "1111111", span) == expected


def test_places_are_those_of_the_current_sequence():
    """Places that hold no symbol neither count for distances nor compete."""
    assert hits([9, 0, 0, 0, 1, 0], "1...11", "....1.") == [False, True, True]
    assert hits([9, 0, 0, 0, 1, 0], "1111.1", "...1..") == [False, False, False]
    assert hits([1, 0, 0, 9, 5, 0], "1...11", "....1.") == [True, True, True]
    assert hits([1, 5, 5, 5, 5, 0], "1...11", "...11.") == [True, True, True]
    assert hits([float("nan"), 2, 1], ".11", ".1.") == [True, True, True]
    assert hits([1, 2, 3], "...", "111") == [False, False, False]


def test_windows_beyond_the_sentence():
    assert hits([1, 2, 9], "111", "1..", (2, 100, 0)) == [True, True, False]
    assert hits([9], "1", "1", (0, 7)) == [True, True]
    assert hits([9, 1], "11", ".1", ()) == []


def test_rows_against_the_definition():
    draw = torch.Generator().manual_seed(1)
    shape = (300, 9)
    attention = torch.randint(0, 6, shape, generator=draw).double()
    live, span = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    for row in range(shape[0]):
        live[row] = torch.rand(shape[1], generator=draw) < 0.7
        live[row, 0] = True
        first, second = sorted(torch.randint(0, 10, (2,), generator=draw).tolist())
        span[row, first:second] = True
    windows = (0, 1, 2, 5)
    found = window_hits(attention, live, span & live, windows)
    rows = zip(attention.tolist(), live.tolist(), span.tolist(), strict=True)
    assert found.tolist() == [by_definition(*row, windows) for row in rows]
    assert 0.05 < found.double().mean() < 0.95
    wider = [torch.cat([each, torch.ones_like(each[:, :3])], 1) for each in (attention, span)]
    padded = torch.cat([live, torch.zeros_like(live[:, :3])], 1)
    assert window_hits(wider[0], padded, wider[1], windows).equal(found)


def test_windows_below_zero_are_refused():
    row = torch.ones(1, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="window -1: must be 0 or more"):
        window_hits(row.double(), row, row, (0, -1))
    with pytest.raises(ValueError, match="window -2: must be 0 or more"):
        WindowAccuracy.empty(3, (-2,))


# Two sentences, of three steps and of one; windows 0 and 2; categories NP+NN, VP and an unknown.
HITS = torch.tensor([[[0, 1], [1, 1], [0, 0]], [[1, 1], [1, 1], [1, 1]]]).bool()
CATEGORIES = torch.tensor([[0, 1, -1], [0, -1, -1]])
SINGLE = torch.tensor([[1, 0, 0], [1, 1, 1]]).bool()
REAL = torch.tensor([[1, 1, 1], [1, 0, 0]]).bool()
TAGS = [("NN", "NP"), ("VP", "VP")]


def test_percentages_by_hand():
    scores = WindowAccuracy.empty(2, (0, 2))
    scores.add(HITS, CATEGORIES, SINGLE, REAL)
    assert scores.counts.dtype == torch.long
    found = scores.percentages(TAGS)
    sentences = {"window_0_sentence": 100 * (1 / 3 + 1) / 2,
                 "window_2_sentence": 100 * (2 / 3 + 1) / 2}  # fmt: skip
    assert {name: found.pop(name) for name in sentences} == pytest.approx(sentences)
    assert found == {
        "window_0": 50, "window_2": 75, "window_0_single": 50, "window_2_single": 100,
        "window_0_multi": 50, "window_2_multi": 50, "window_0_NN": 50, "window_2_NN": 100,
        "window_0_VP": 100, "window_2_VP": 100,
    }  # fmt: skip
    assert not {"window_0_NN"} & set(scores.percentages())


def test_sums_of_batches_are_the_sums_of_all():
    """Also those of a worker with nothing; a finished sentence adds nothing."""
    whole = WindowAccuracy.empty(2, (0, 2))
    whole.add(HITS, CATEGORIES, SINGLE, REAL)
    parts = [
        (step_counts(HITS[row][real], CATEGORIES[row][real], SINGLE[row][real], 2),
         sentence_sums(HITS[row, None], real[None]))
        for row, real in enumerate(REAL)
    ]  # fmt: skip
    nothing = torch.zeros(2, 3).bool()
    parts.append((torch.zeros(3, 2, 3).long(), sentence_sums(HITS, nothing)))
    counts, sentences = (sum(each) for each in zip(*parts, strict=True))
    assert counts.equal(whole.counts)
    assert sentences.tolist() == pytest.approx(whole.sentences.tolist())
    again = WindowAccuracy((0, 2), counts, sentences)
    assert again.percentages(TAGS) == pytest.approx(whole.percentages(TAGS))
    assert WindowAccuracy.empty(2).percentages(TAGS) == {}


def test_every_category_needs_its_tags():
    with pytest.raises(ValueError):
        WindowAccuracy.empty(3).percentages(TAGS)
