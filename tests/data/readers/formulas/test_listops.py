"""ListOps: values of expressions, and the released files."""

import os
from pathlib import Path

import pytest

from fairseq_struct.data.readers.formulas.listops import read_listops, value_of
from fairseq_struct.errors import InputError

DATA = Path(os.environ.get("DATA") or "absent") / "listops"
WITH_DATA = pytest.mark.skipif(not DATA.is_dir(), reason="DATA names no folder that holds listops")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7", 7),
        ("[MIN 4 7 2 ]", 2),
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MED 1 8 4 ]", 4),
        ("[MED 1 8 ]", 4),  # 4.5
        ("[MED 9 8 1 2 ]", 5),
        ("[SM 5 6 ]", 1),
        ("[SM 9 [SM 9 9 9 9 9 ] [MED 3 ] ]", 7),
        ("[MAX [MIN 3 4 ] [SM 9 9 ] ]", 8),
    ],
)
def test_values_of_expressions(expression, value):
    assert value_of(expression.split()) == value


@pytest.mark.parametrize("expression", ["[MAX ]", "[MAX 2", "2 ]", "[AVG 2 3 ]", "[MAX 12 ]", ""])
def test_what_is_no_expression_has_no_value(expression):
    with pytest.raises(ValueError, match="token|no words"):
        value_of(expression.split())


def test_round_brackets_are_left_out(tmp_path):
    (tmp_path / "file").write_text("9\t( ( ( [MAX 2 ) 9 ) ] )\n\n4\t4\n5\t[MIN 7 5 ]\n")
    read = read_listops(tmp_path / "file")
    assert [(one.sentences, one.label, one.line) for one in read] == [
        (("[MAX 2 9 ]",), "9", 1), (("4",), "4", 3), (("[MIN 7 5 ]",), "5", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("8\t( ( ( [MAX 2 ) 9 ) ] )", "the label is 8, but the expression has the value 9"),
        ("9\t( ( ( [MAX 2 ) 9 ) ]", r"no expression of ListOps: 1 round bracket\(s\) not closed"),
        ("9\t[MAX 2 ) 9 ]", r"no expression of ListOps: '\)' \(word 3\) closes nothing"),
        ("9\t( ) [MAX 2 9 ]", r"no expression of ListOps: '\)' \(word 2\) closes an empty bracket"),
        ("2\t[AVG 2 2 ]", r"no expression of ListOps: '\[AVG' \(token 1\) is neither"),
        ("10\t[SM 5 5 ]", "expected a digit, a tab and an expression"),
        ("5 5", "expected a digit, a tab and an expression"),
    ],
)
def test_malformed_files_are_refused_with_file_and_line(tmp_path, line, message):
    (tmp_path / "file").write_text(f"1\t1\n{line}\n")
    with pytest.raises(InputError, match=f"file:2: {message}"):
        read_listops(tmp_path / "file")


def test_a_file_without_expressions_is_refused(tmp_path):
    (tmp_path / "file").write_text("\n")
    with pytest.raises(InputError, match="holds no expression"):
        read_listops(tmp_path / "file")


@pytest.mark.data
@WITH_DATA
def test_all_released_labels_are_the_values():
    assert len({one.sentences for one in read_listops(DATA / "test_d20s.tsv")}) == 10_000
