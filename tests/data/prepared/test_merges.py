"""Merges are those of subword-nmt."""

import contextlib
import io
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword_nmt.learn_bpe import learn_bpe

from fairseq_struct.data.prepared.vocabulary.merges import learn_merges


def theirs(words, merges):
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe([f"{w} {n}" for w, n in sorted(words.items())], codes, merges, is_dict=True)
    return [tuple(line.split(" ")) for line in codes.getvalue().split("\n")[1:-1]]


# Few letters make ties, repeated pairs, and symbols that several merges make.
@given(st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 6), min_size=1))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_small_vocabularies(words):
    if any(len(word) > 1 for word in words):  # the library fails where there is no pair
        assert learn_merges(words, 40) == theirs(words, 40)


def test_a_larger_vocabulary():
    generator = random.Random(3)
    words = Counter(
        "".join(generator.choices("aehiklnorstw", range(1, 13), k=generator.randint(1, 9)))
        for _ in range(4000)
    )
    found = learn_merges(words, 900)
    assert found == theirs(words, 900) and len(found) == 900
    order = list(words.items())
    generator.shuffle(order)
    assert learn_merges(dict(order), 900) == found


@pytest.mark.parametrize("words", [{}, {"a": 5, "b": 1}, {"ab": 1, "cd": 1}])
def test_no_pair_occurs_twice(words):
    assert learn_merges(words, 3) == []
