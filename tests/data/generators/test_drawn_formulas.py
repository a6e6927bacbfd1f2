"""Truth tables of formulas, their relations, and drawn pairs."""

import os
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from fairseq_struct.data.generators.propositional_logic import RELEASED, draw_pairs
from fairseq_struct.data.readers.formulas.formula_trees import LOGICAL_OPERATORS, constituents
from fairseq_struct.data.readers.formulas.propositional_logic import operators_of_longer, read_pairs
from fairseq_struct.data.readers.formulas.truth_tables import (
    RELATIONS,
    VARIABLES,
    relation,
    truth_table,
)

DATA = Path(os.environ.get("DATA") or "absent") / "proplogic"
WITH_DATA = pytest.mark.skipif(
    not DATA.is_dir(), reason="DATA names no folder that holds proplogic"
)


def rows(formula):
    """The value of a formula for every assignment, by Python itself."""
    infix = formula.replace("( and ", "and ( ").replace("( or ", "or ( ")
    code = compile(infix, "formula", "eval")
    return [
        bool(eval(code, dict(zip(VARIABLES, values, strict=True))))
        for values in product((False, True), repeat=len(VARIABLES))
    ]


def relation_by_rows(first, second):
    """The relation by the definitions of Bowman et al., over all assignments."""
    seen = {*zip(rows(first), rows(second), strict=True)}
    both, neither = (True, True) in seen, (False, False) in seen
    one, other = (True, False) in seen, (False, True) in seen
    return {
        (True, False, False, True): "=", (False, True, True, False): "^",
        (True, False, True, True): "<", (True, True, False, True): ">",
        (False, True, True, True): "|", (True, True, True, False): "v",
        (True, True, True, True): "#",
    }[both, one, other, neither]  # fmt: skip


def operators(formula):
    return sum(word in LOGICAL_OPERATORS for word in formula.split())


def test_operators_of_the_longer_formula_of_a_pair():
    assert operators_of_longer(("a", "b")) == 0
    assert operators_of_longer(("( a ( and ( not b ) ) )", "( not a )")) == 2
    many = "( not " * 14 + "a" + " )" * 14
    assert operators_of_longer(("a", many)) == 12  # as in the last file of the test set


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a", "a", "="), ("a", "b", "#"), ("( not a )", "a", "^"),
        ("( a ( and b ) )", "a", "<"), ("a", "( a ( and b ) )", ">"),
        ("( a ( and b ) )", "( not b )", "|"), ("( a ( or b ) )", "( not b )", "v"),
        ("( not ( a ( and b ) ) )", "( ( not b ) ( or ( not a ) ) )", "="),
    ],
)  # fmt: skip
def test_relations_of_hand_made_pairs(first, second, expected):
    assert relation(first.split(), second.split()) == expected == relation_by_rows(first, second)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("( a ( and g ) )", r"'g' \(token 5\) is none of the variables abcdef"),
        ("( a ( xor b ) )", r"'xor' \(token 4\) is neither"),
        ("( a ( and ( not a ) ) )", "always or never true"),
        ("( a ( or ( not a ) ) )", "always or never true"),
    ],
)
def test_formulas_without_a_relation(formula, message):
    with pytest.raises(ValueError, match=message):
        relation(formula.split(), ["a"])


@pytest.mark.parametrize("number", [0, 1, 3, 6, 12])
def test_drawn_pairs_are_those_asked_for_with_exhaustively_checked_labels(number):
    pairs = draw_pairs(number, 60, Random(1))
    assert pairs == draw_pairs(number, 60, Random(1))
    assert len({pair.sentences for pair in pairs}) == len(pairs) == (36 if number == 0 else 60)
    for pair in pairs:
        assert max(map(operators, pair.sentences)) == number
        assert len(set(VARIABLES) & {*" ".join(pair.sentences).split()}) <= 4
        assert pair.label == relation_by_rows(*pair.sentences)
    known = {pair.sentences for pair in pairs}
    if number:
        assert not known & {pair.sentences for pair in draw_pairs(number, 60, Random(1), known)}
        assert {operators(pair.sentences[0]) == number for pair in pairs} == {True, False}


def test_all_relations_are_drawn():
    assert {pair.label for pair in draw_pairs(3, 300, Random(1))} == set(RELATIONS)


def test_tables_are_those_of_exhaustive_evaluation():
    for pair in draw_pairs(8, 30, Random(2)):
        for formula in pair.sentences:
            # bit k of the table has variable i true where bit i of k is set
            table, values = truth_table(formula.split()), rows(formula)
            for bits in range(64):
                place = int(f"{bits:06b}"[::-1], 2)  # the first variable varies slowest in rows
                assert bool(table >> bits & 1) == values[place]


def test_formulas_have_a_table_and_nothing_else_has():
    """Of all short rows of tokens; they are formulas where the reader of their trees says so."""
    accepted = 0
    for size in range(8):
        for tokens in product(("(", ")", "not", "and", "a"), repeat=size):
            try:
                constituents(tokens, "proplogic")
            except ValueError as error:
                with pytest.raises(ValueError) as raised:
                    truth_table(tokens)
                assert str(raised.value) == str(error)
            else:
                accepted += 1
                assert 0 <= truth_table(tokens) < 1 << 64
    assert accepted == 4  # a, ( not a ), ( not ( not a ) ), ( a ( and a ) )


@pytest.mark.data
@WITH_DATA
def test_released_labels_are_those_of_the_truth_tables():
    counts = Counter()
    for number in range(13):
        counts.update(pair.label for pair in read_pairs(DATA / f"test{number}"))  # refuses others
    assert counts.total() == 37_367 and counts.keys() == set(RELATIONS)


@pytest.mark.data
@WITH_DATA
def test_the_released_balance_is_that_of_the_training_files():
    found = Counter(
        max(map(operators, pair.sentences))
        for number in range(13)
        for pair in read_pairs(DATA / f"train{number}")
    )
    assert dict(enumerate(RELEASED)) == found


@pytest.mark.data
@WITH_DATA
def test_drawn_pairs_have_the_released_shares_of_relations():
    drawn = Counter(pair.label for pair in draw_pairs(6, 3000, Random(1)))
    released = Counter(pair.label for pair in read_pairs(DATA / "test6"))
    for label in RELATIONS:
        shares = drawn[label] / drawn.total(), released[label] / released.total()
        assert shares[0] == pytest.approx(shares[1], abs=0.06)
