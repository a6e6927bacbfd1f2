"""Gold trees of formulas and of ListOps expressions."""

import os
from pathlib import Path

import pytest

from fairseq_struct.data.readers.formulas.formula_trees import KINDS, constituents

DATA = Path(os.environ.get("DATA") or "absent")
WITH_DATA = pytest.mark.skipif(
    not (DATA / "listops").is_dir() or not (DATA / "proplogic").is_dir(),
    reason="DATA names no folder that holds listops and proplogic",
)

TREES = [
    ("proplogic", "a", [(0, 1)]),
    ("proplogic", "( not a )", [(0, 4), (1, 2), (2, 3)]),
    ("proplogic", "( d ( and e ) )", [(0, 7), (1, 2), (2, 6), (3, 4), (4, 5)]),
    (
        "proplogic",
        "( ( not a ) ( or b ) )",
        [(0, 10), (1, 5), (2, 3), (3, 4), (5, 9), (6, 7), (7, 8)],
    ),
    ("listops", "7", [(0, 1)]),
    ("listops", "[SM 3 ]", [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]),
    (
        "listops",
        "[MAX 2 [MIN 4 7 ] 0 ]",
        [(0, 8), (0, 7), (0, 6), (0, 2), (0, 1), (1, 2), (2, 6), (2, 5), (2, 4), (2, 3)]
        + [(3, 4), (4, 5), (5, 6), (6, 7), (7, 8)],
    ),
]

MALFORMED = [
    ("proplogic", "", "no tree over no words"),
    ("proplogic", "( d ( and e )", r"'\(' \(token 1\) is not closed"),
    ("proplogic", "a )", r"'\)' \(token 2\) closes no bracket"),
    ("proplogic", "( )", r"'\(' \(token 1\) holds nothing"),
    ("proplogic", "( a )", r"'\(' \(token 1\) holds neither"),
    ("proplogic", "( not ( a b ) )", r"'\(' \(token 3\) holds neither"),
    ("proplogic", "( a ( xor b ) )", r"'xor' \(token 4\) is neither an operator nor a variable"),
    ("proplogic", "( and a )", r"'\(' \(token 1\) has no place"),
    ("proplogic", "not", r"'not' \(token 1\) has no place"),
    ("proplogic", "a b", r"'b' \(token 2\) has no place"),
    ("listops", "[MAX ]", r"'\[MAX' \(token 1\) is the operator of an empty list"),
    ("listops", "[MAX 2 [MIN ] ]", r"'\[MIN' \(token 3\) is the operator of an empty list"),
    ("listops", "[MAX 2", r"'\[MAX' \(token 1\) is the operator of a list that is not closed"),
    ("listops", "]", r"'\]' \(token 1\) closes no list"),
    ("listops", "[MAX 2 ] ]", r"'\]' \(token 4\) stands after the end"),
    ("listops", "[SUM 2 ]", r"'\[SUM' \(token 1\) is neither"),
    ("listops", "[MAX 10 ]", r"'10' \(token 2\) is neither"),
    ("arithmetic", "1", "of proplogic and listops, not of 'arithmetic'"),
]


@pytest.mark.parametrize(("kind", "text", "spans"), TREES)
def test_spans_of_hand_made_formulas(kind, text, spans):
    assert constituents(text.split(), kind) == spans


@pytest.mark.parametrize(("kind", "text", "message"), MALFORMED)
def test_what_is_no_formula_is_refused_with_token_and_place(kind, text, message):
    with pytest.raises(ValueError, match=message):
        constituents(text.split(), kind)


def test_deep_formulas_need_no_recursion():
    deep = 5000
    assert len(constituents(["(", "not"] * deep + ["a"] + [")"] * deep, KINDS[0])) == 2 * deep + 1
    assert len(constituents(["[SM"] * deep + ["1"] + ["]"] * deep, KINDS[1])) == 4 * deep + 1


@pytest.mark.data
@WITH_DATA
def test_listops_trees_are_those_of_the_released_brackets():
    lines = (DATA / "listops" / "test_d20s.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        tokens, expected = bracketed(line.split("\t")[1])
        spans = constituents(tokens, "listops")
        assert len(spans) == len(expected) and set(spans) == expected
    assert len(lines) == 10_000


@pytest.mark.data
@WITH_DATA
def test_released_formulas_are_binary_trees():
    for line in (DATA / "proplogic" / "test12").read_text(encoding="utf-8").splitlines():
        for formula in line.split("\t")[1:]:
            tokens = formula.split()
            spans = constituents(tokens, "proplogic")
            leaves = sum(token not in "()" for token in tokens)
            assert spans[0] == (0, len(tokens)) and len(spans) == 2 * leaves - 1
            assert len(spans) - leaves == formula.count("(")


def bracketed(line: str) -> tuple[list[str], set[tuple[int, int]]]:
    """Words of a tree in round brackets, and the spans of its words and brackets."""
    words, spans, inside = [], set(), []
    for token in line.split():
        if token == "(":
            inside.append(len(words))
        elif token == ")":
            spans.add((inside.pop(), len(words)))
        else:
            spans.add((len(words), len(words) + 1))
            words.append(token)
    return words, spans
