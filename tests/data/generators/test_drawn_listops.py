"""Drawn expressions of ListOps: their distribution, by length too, and what is refused."""

import os
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from fairseq_struct.data.generators.listops import Expressions, SizedExpressions
from fairseq_struct.data.readers.formulas.formula_trees import DIGITS, LIST_OPERATORS
from fairseq_struct.data.readers.formulas.listops import read_listops, value_of
from fairseq_struct.errors import InputError

DATA = Path(os.environ.get("DATA") or "absent") / "listops"
WITH_DATA = pytest.mark.skipif(not DATA.is_dir(), reason="DATA names no folder that holds listops")


def statistics(expressions):
    """Counts of operators, of numbers of arguments, of depths and of lengths."""
    operators, arguments, depths, lengths = Counter(), Counter(), Counter(), []
    for expression in expressions:
        inside, deepest, tokens = [], 0, expression.split()
        for token in tokens:
            if token == "]":
                arguments[inside.pop()] += 1
                continue
            if inside:
                inside[-1] += 1
            if token in LIST_OPERATORS:
                operators[token] += 1
                inside.append(0)
                deepest = max(deepest, len(inside))
        depths[deepest] += 1
        lengths.append(len(tokens))
    return operators, arguments, depths, sorted(lengths)


def shares(counts):
    return {key: count / counts.total() for key, count in counts.items()}


def test_expressions_are_distinct_valid_and_those_of_their_seed():
    drawn = Expressions().draw(500, Random(1))
    assert drawn == Expressions().draw(500, Random(1)) != Expressions().draw(500, Random(2))
    assert len(set(drawn)) == 500
    assert {value_of(one.split()) for one in drawn} == set(range(10))
    assert not set(Expressions().draw(400, Random(1), exclude=set(drawn))) & set(drawn)


def test_options_bound_the_expressions():
    operators, arguments, depths, lengths = statistics(
        Expressions((3, 4), 3, (8, 12)).draw(300, Random(1))
    )
    assert set(operators) == set(LIST_OPERATORS) and set(arguments) == {3, 4}
    assert set(depths) <= {1, 2} and lengths[0] >= 8 and lengths[-1] <= 12
    _, arguments, _, lengths = statistics(Expressions((10, 10), 20, (100, 300)).draw(20, Random(1)))
    assert set(arguments) == {10} and lengths[0] >= 100 and lengths[-1] <= 300
    _, _, depths, _ = statistics(Expressions(depth=2).draw(50, Random(1)))
    assert set(depths) == {1}


def probability(tokens, level, lists, last):
    """Of drawing the node that begins ``tokens``, and the tokens after it; 1 or 2 arguments."""
    first, *rest = tokens
    if first in DIGITS:
        return 0.1 * (1 if level == last else 1 - lists), rest
    chance, count = (1 if level == 1 else lists) / 4 / 2, 0
    while rest[0] != "]":
        one, rest = probability(rest, level + 1, lists, last)
        chance, count = chance * one, count + 1
    return chance * (count in (1, 2)), rest[1:]


def test_sized_expressions_have_their_exact_probabilities():
    """Against the direct draws' probabilities of all shapes of 3 to 7 tokens."""
    shapes = ["[ 0 ]", "[ 0 0 ]", "[ [ 0 ] ]", "[ [ 0 0 ] ]", "[ 0 [ 0 ] ]", "[ [ 0 ] 0 ]",
              "[ [ 0 ] [ 0 ] ]", "[ 0 [ 0 0 ] ]", "[ [ 0 0 ] 0 ]"]  # fmt: skip
    chances = {}
    for shape in shapes:
        tokens = shape.replace("[", "[MIN").split()
        chance, rest = probability(tokens, 1, 0.25, 3)
        assert rest == []
        chances[shape] = chance * 10 ** shape.count("0") * 4 ** shape.count("[")
    chances = {shape: chance for shape, chance in chances.items() if 4 <= len(shape.split()) <= 7}
    total = sum(chances.values())
    sized = SizedExpressions(Expressions((1, 2), 3), 4, 7)
    sums = Counter()
    for shape, chance in chances.items():
        sums[len(shape.split())] += chance
    for size, chance in sums.items():
        assert sized.whole[size] == pytest.approx(chance)
    assert sized.whole.sum() == pytest.approx(total)
    generator, drawn = Random(1), Counter()
    for _ in range(20_000):
        tokens = sized.draw(generator)
        drawn[" ".join("[" if t[0] == "[" else "0" if t in DIGITS else t for t in tokens)] += 1
    assert drawn.keys() == chances.keys()
    for shape, chance in chances.items():
        assert drawn[shape] / 20_000 == pytest.approx(chance / total, abs=0.015)


def test_all_expressions_of_a_small_kind_are_found_and_no_more():
    every = {" ".join([*one, "]"]) for one in product(LIST_OPERATORS, DIGITS, DIGITS)}
    assert set(Expressions((2, 2), 2).draw(400, Random(1))) == every
    with pytest.raises(InputError, match="no 401 distinct expressions .* after 400, 10000 draws"):
        Expressions((2, 2), 2).draw(401, Random(1))
    with pytest.raises(InputError, match="no expression with these options has 1 to 3 tokens"):
        Expressions(tokens=(1, 3)).draw(1, Random(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arguments": (3, 2)}, r"a list cannot have \(3, 2\) arguments"),
        ({"arguments": (0, 2)}, r"a list cannot have \(0, 2\) arguments"),
        ({"depth": 1}, "2 levels or more, not 1"),
        ({"lists": 1.0}, "probability of lists must be 0 or more and below 1"),
        ({"tokens": (9, 8)}, r"cannot have \(9, 8\) tokens"),
    ],
)
def test_numbers_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Expressions(**options)


@pytest.mark.data
@WITH_DATA
def test_generated_expressions_are_distributed_as_the_released_ones():
    """Short ones are fewer in the released data, which are distinct; they are compared apart."""
    released = [one.sentences[0] for one in read_listops(DATA / "test_d20s.tsv")]
    # The released 10,000 are one in ten of distinct expressions; so are these.
    drawn = Expressions().draw(100_000, Random(1))[:10_000]
    ours, theirs = statistics(drawn), statistics(released)
    for place, tolerance in ((0, 0.006), (1, 0.008), (2, 0.015)):
        found, expected = shares(ours[place]), shares(theirs[place])
        for key in expected.keys() | found.keys():
            assert found.get(key, 0) == pytest.approx(expected.get(key, 0), abs=tolerance)
    assert max(ours[2]) == max(theirs[2]) == 19
    for quantile, tolerance in ((0.1, 0), (0.25, 0), (0.5, 1), (0.8, 4), (0.9, 10), (0.99, 60)):
        place = int(quantile * 10_000)
        assert abs(ours[3][place] - theirs[3][place]) <= tolerance
    assert theirs[3][5_000] == 16 and theirs[3][-1] == 939
    up_to_50 = [sum(n <= 50 for n in lengths) / 10_000 for lengths in (ours[3], theirs[3])]
    assert up_to_50 == pytest.approx([0.8, 0.8], abs=0.01)
