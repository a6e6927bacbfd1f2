"""Runs of consecutive numbers with hidden ones, and how they are split."""

from math import comb

import numpy as np
import pytest

from fairseq_struct.data.generators.consecutive_runs import (
    MOST_SYMBOLS,
    SHORTEST,
    consecutive_runs,
    most_hidden,
    split_examples,
)
from fairseq_struct.errors import InputError


@pytest.fixture(scope="module")
def every():
    return consecutive_runs()


def test_there_are_as_many_examples_as_in_the_thesis(every):
    counted = sum(
        2 * (65 - n) * sum(comb(n, hidden) for hidden in range(1, most_hidden(n) + 1))
        for n in range(8, 25)
    )
    assert len(every.examples) == counted == 785_142
    assert len(every.sequences) == sum(2 * (65 - n) for n in range(8, 25))
    parts = split_examples(every.examples)
    assert len(parts["test"]) == 78_514
    assert len(parts["train"]) + len(parts["valid"]) == 706_628


def test_every_example_is_there_once_and_its_places_are_in_its_sequence(every):
    assert len(np.unique(every.examples, axis=0)) == len(every.examples)
    lengths = (every.sequences >= 0).sum(1)
    assert sorted(set(lengths)) == list(range(8, 25))
    places = every.examples[:, 1:]
    assert (places < lengths[every.examples[:, 0]][:, None]).all() and (places[:, 0] >= 0).all()
    rising = (np.diff(places) > 0) | (places[:, 1:] < 0)
    assert rising.all()
    assert ((places >= 0).sum(1) <= [most_hidden(n) for n in lengths[every.examples[:, 0]]]).all()


def test_sequences_are_runs_in_both_directions(every):
    steps = np.diff(every.sequences)[every.sequences[:, 1:] >= 0]
    assert set(steps.tolist()) == {1, -1} and (steps == 1).sum() == (steps == -1).sum()
    assert set(np.unique(every.sequences)) == {-1, *range(64)}
    assert len(np.unique(every.sequences, axis=0)) == len(every.sequences)


@pytest.mark.parametrize("split", ["random", "runs"])
def test_parts_share_no_example_and_by_runs_no_sequence(every, split):
    parts = split_examples(every.examples, split)
    together = np.concatenate(list(parts.values()))
    assert len(np.unique(together, axis=0)) == len(together) == len(every.examples)
    runs = [set(part[:, 0].tolist()) for part in parts.values()]
    shared = runs[0] & runs[2]
    assert not shared if split == "runs" else len(shared) > 1400
    if split == "runs":
        assert [len(one) for one in runs] == [1469, 30, 167]


def test_a_share_is_drawn_from_the_same_parts(every):
    whole, some = (split_examples(every.examples, "runs", share) for share in (1.0, 0.1))
    for name, part in some.items():
        assert len(part) == round(0.1 * len(whole[name]))
        assert set(map(tuple, part)) <= set(map(tuple, whole[name]))
    again, other = (split_examples(every.examples, "runs", 0.1, seed) for seed in (1, 2))
    assert np.array_equal(again["train"], some["train"])
    assert not np.array_equal(other["train"], some["train"][: len(other["train"])])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("words",), "unknown --split 'words'; choose one of random, runs"),
        (("random", 0.0), "--share must be above 0"),
        (("random", 1.5), "--share must be above 0 and at most 1"),
        (("random", float("nan")), "--share must be above 0"),
        (("random", 0.001), "leaves no examples for the train part"),
    ],
)
def test_bad_splits(arguments, message):
    with pytest.raises(InputError, match=message):
        split_examples(consecutive_runs(10).examples, *arguments)


def test_too_few_symbols():
    with pytest.raises(InputError, match="runs of 8 numbers need as many symbols, not 7"):
        consecutive_runs(7)


def test_too_many_symbols_for_the_numbers_of_sequences(monkeypatch):
    monkeypatch.setattr("fairseq_struct.data.generators.consecutive_runs.LONGEST", 8)
    found = consecutive_runs(MOST_SYMBOLS)
    assert len(np.unique(found.examples[:, 0])) == len(found.sequences) == 2 * (MOST_SYMBOLS - 7)
    with pytest.raises(InputError, match="there can be 978 symbols at most, not 979"):
        consecutive_runs(MOST_SYMBOLS + 1)
    most = sum(2 * (MOST_SYMBOLS - n + 1) for n in range(SHORTEST, 25))
    assert most <= np.iinfo(found.examples.dtype).max < most + 2 * 17
