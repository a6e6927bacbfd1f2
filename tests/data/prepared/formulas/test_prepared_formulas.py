"""``fairseq-struct prepare propositional_logic``: the splits of table 4, and drawn pairs."""

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from preparers import check_fails, contents

from fairseq_struct.data.prepared.formulas.propositional_logic import (
    draw_logic_corpus,
    read_logic_corpus,
)
from fairseq_struct.data.readers.formulas import propositional_logic
from fairseq_struct.data.readers.formulas.truth_tables import relation
from fairseq_struct.errors import InputError

DATA = Path(os.environ.get("DATA") or "absent") / "proplogic"
WITH_DATA = pytest.mark.skipif(
    not DATA.is_dir(), reason="DATA names no folder that holds proplogic"
)
READ_ONCE = cache(propositional_logic.read_pairs)
# Formulas that a; b; c; and no split keeps from training.
FORMULAS = {
    "a": "( b ( and ( not a ) ) )",
    "b": "( b ( and ( not ( a ( or c ) ) ) ) )",
    "c": "( b ( or ( not a ) ) )",
    "": "( ( not a ) ( and b ) )",
}
LETTERS = "bdefdb"  # with these, all training sets have all relations of the tests


def write_files(folder):
    """Six pairs of each kind of formula, on either side, and of a letter, in every file."""
    folder.mkdir()
    for file in ("train0", "train1", "test0", "test1", "test2", "test3"):
        lines = []
        for formula in FORMULAS.values():
            pairs = [(formula, letter) for letter in LETTERS[:3]]
            pairs += [(letter, formula) for letter in LETTERS[3:]]
            labels = [relation(*map(str.split, pair)) for pair in pairs]
            lines += ["\t".join((label, *pair)) for label, pair in zip(labels, pairs, strict=True)]
        (folder / file).write_text("\n".join(lines) + "\n")
    return folder


def operators(pair):
    """Number of operators of the longer formula."""
    return max(len(re.findall("and|or|not", side)) for side in pair[:2])


def pairs(folder, name):
    parts = [(folder / "text" / f"{name}.{part}").read_text().splitlines()
             for part in ("sentence1", "sentence2", "label")]  # fmt: skip
    return list(zip(*parts, strict=True))


@pytest.mark.parametrize(("split", "kept"), [("a", "bc"), ("b", "c"), ("c", "")])
def test_a_split_keeps_formulas_from_training_and_tests_with_them(tmp_path, run, split, kept):
    files = write_files(tmp_path / "files")
    out = tmp_path / "out"
    given = [files, out, "--most-operators=1", f"--split={split}"]
    assert run("propositional_logic", given)[0] == 0
    held = {formula for name, formula in FORMULAS.items() if name and name not in kept}
    known = [*pairs(out, "train"), *pairs(out, "valid")]
    tested = pairs(out, "test")
    assert len(known) == 12 * (4 - len(held)) and len(tested) == 12 * len(held)  # test2 and test3
    assert not [pair for pair in known if held & {*pair}]
    assert all(held & {*pair} for pair in tested)
    options = json.loads((out / "manifest.json").read_text())["options"]
    assert options["split"] == split and options["most_operators"] == 1


def test_without_a_split_all_is_as_it_was(tmp_path, run):
    files = write_files(tmp_path / "files")
    status, printed, _ = run("propositional_logic", [files, tmp_path / "out", "--most-operators=1"])
    assert status == 0 and "train: 44 pairs\nvalid: 4 pairs\ntest: 96 pairs\n" in printed
    options = json.loads((tmp_path / "out" / "manifest.json").read_text())["options"]
    assert {"split", "generated"}.isdisjoint(options)


def test_generated_pairs_are_balanced_by_operators(tmp_path, run):
    options = ["--most-operators=3", "--most-instances=300", "--test-instances=20", "--seed=4"]
    status, printed, _ = run("propositional_logic", ["generate", tmp_path / "out", *options])
    assert status == 0
    known = [*pairs(tmp_path / "out", "train"), *pairs(tmp_path / "out", "valid")]
    tested = pairs(tmp_path / "out", "test")
    sizes = [list(map(operators, each)) for each in (known, tested)]
    counts = [[found.count(number) for number in range(13)] for found in sizes]
    # Of no operators there are 36 pairs, so that the others have more than a quarter each.
    assert sum(counts[0]) == 300 and counts[0][1:4] == [91, 90, 90] and not any(counts[0][4:])
    assert counts[0][0] == 29 and counts[1][0] == 7 and counts[1][1:] == [20] * 12
    assert len({pair[:2] for pair in known + tested}) == len(known + tested)
    for first, second, label in known + tested:
        assert relation(first.split(), second.split()) == label
    assert run("propositional_logic", ["generate", tmp_path / "again", *options])[0] == 0
    assert contents(tmp_path / "again") == contents(tmp_path / "out")
    given = ["generate", tmp_path / "c", *options, "--split=c"]
    assert run("propositional_logic", given)[0] == 0
    for name, held in (("train", False), ("valid", False), ("test", True)):
        found = pairs(tmp_path / "c", name)
        assert found
        assert {bool(re.search(r"(and|or) \( not", " ".join(pair))) for pair in found} == {held}


@pytest.mark.parametrize(
    ("balance", "expected"),
    [
        ("0,0,1,3", [0, 0, 75, 225]),
        ("0,5,0,0", [0, 300, 0, 0]),
        # 30, 2,319, 12,451 and 23,252 of 38,052, each rounded up in turn
        ("released", [1, 19, 98, 182]),
    ],
)
def test_generated_pairs_are_balanced_as_asked(tmp_path, run, balance, expected):
    given = ["generate", tmp_path / "out", "--most-operators=3", "--most-instances=300",
             "--test-instances=5", f"--balance={balance}"]  # fmt: skip
    assert run("propositional_logic", given)[0] == 0
    known = [*pairs(tmp_path / "out", "train"), *pairs(tmp_path / "out", "valid")]
    found = [operators(pair) for pair in known]
    assert [found.count(number) for number in range(4)] == expected
    tested = [operators(pair) for pair in pairs(tmp_path / "out", "test")]
    assert [tested.count(number) for number in range(13)] == [5] * 13
    made = json.loads((tmp_path / "out" / "manifest.json").read_text())["options"]["balance"]
    assert made == (balance if balance == "released" else [*map(int, balance.split(","))])


def test_what_longer_pairs_make_up_for_is_shared_as_asked(tmp_path, run):
    """Of no operators there are 36 pairs, most of them for training."""
    given = ["generate", tmp_path / "out", "--most-operators=2", "--most-instances=300",
             "--test-instances=1", "--balance=4,1,3"]  # fmt: skip
    assert run("propositional_logic", given)[0] == 0
    known = [*pairs(tmp_path / "out", "train"), *pairs(tmp_path / "out", "valid")]
    found = [operators(pair) for pair in known]
    assert [found.count(number) for number in range(3)] == [36, 66, 198]


def test_by_default_the_balance_is_equal(tmp_path, run):
    options = ["--most-operators=2", "--most-instances=50", "--test-instances=1"]
    for name, more in (("default", []), ("equal", ["--balance=equal"])):
        assert run("propositional_logic", ["generate", tmp_path / name, *options, *more])[0] == 0
    assert contents(tmp_path / "default") == contents(tmp_path / "equal")


@pytest.mark.parametrize(
    ("balance", "message"),
    [
        ("even", "'even' is neither equal, released, nor whole numbers with commas between"),
        ("1,-1", "'1,-1' is neither"),
        ("1,,1", "'1,,1' is neither"),
        ("1.5,1", "'1.5,1' is neither"),
        ("0,0", "0,0 asks for no pair"),
    ],
)
def test_balances_that_are_none(tmp_path, run, balance, message):
    given = ["generate", tmp_path / "out", "--most-operators=1", f"--balance={balance}"]
    status, _, complaint = run("propositional_logic", given)
    assert status == 2 and f"argument --balance: {message}" in complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FILES", "OUT", "--test-instances=3"], "--test-instances is for generate"),
        (["FILES", "OUT", "--balance=equal"], "--balance is for generate"),
        (["generate", "OUT", "--most-operators=3", "--balance=1,1"],
         "--balance has 2 numbers, for up to 1 operators; --most-operators is 3"),
        (["generate", "OUT", "--most-operators=20", "--balance=released"],
         "--balance released: the released pairs have up to 19 operators; --most-operators is 20"),
        (["EMPTY", "OUT", "--most-operators=0"], "train0: no such file"),
        (["FILES", "OUT", "--most-operators=1", "--split=c"], "--split c: no test pair is in it"),
        (["LACKING", "OUT", "--most-operators=1", "--split=a"],
         "test2:1: the relation '^' is not in the training split"),
    ],
)  # fmt: skip
def test_bad_input_leaves_no_folder(tmp_path, run, arguments, message):
    for name in ("files", "lacking"):
        write_files(tmp_path / name)
        for number in (2, 3):
            (tmp_path / name / f"test{number}").write_text("#\ta\tb\n")
    (tmp_path / "lacking" / "test2").write_text(f"^\ta\t( ( not a ) ( or {FORMULAS['a']} ) )\n")
    (tmp_path / "empty").mkdir()
    places = {name.upper(): tmp_path / name for name in ("files", "lacking", "empty", "out")}
    check_fails(run("propositional_logic", [places.get(one, one) for one in arguments]), message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#\ta\t( not ( b", "'(' (token 3) is not closed (the second formula)"),
        ("#\ta ) )\tb", "')' (token 2) closes no bracket"),
        ("#\ta\t( )", "'(' (token 1) holds nothing"),
        ("#\t( a ( xor b ) )\tb", "'xor' (token 4) is neither an operator nor a variable"),
        ("#\ta\tg", "'g' (token 1) is none of the variables abcdef"),
        ("=\ta\tb", "the relation is '#' by the truth tables, not '='"),
        ("#\ta\t( b ( or ( not b ) ) )", "a formula is always or never true"),
        ("#\ta", "expected a relation and two formulas"),
    ],
)
def test_lines_that_are_no_pair_are_named(tmp_path, run, line, message):
    files = write_files(tmp_path / "files")
    (files / "test3").write_text(f"#\ta\tb\n{line}\n")
    result = run("propositional_logic", [files, tmp_path / "out", "--most-operators=1"])
    check_fails(result, f"{files}/test3:2: {message}")
    assert not (tmp_path / "out").exists()


def of_corpus(corpus, name):
    return [(*one.sentences, one.label) for one in corpus.splits[name]]


def test_python_gives_the_corpora_of_the_command(tmp_path, run):
    files = write_files(tmp_path / "files")
    given = [files, tmp_path / "read", "--most-operators=1", "--split=b", "--seed=3"]
    assert run("propositional_logic", given)[0] == 0
    options = ["--most-operators=2", "--most-instances=50", "--test-instances=4", "--balance=1,2,1"]
    assert run("propositional_logic", ["generate", tmp_path / "drawn", *options])[0] == 0
    for folder, corpus in (
        ("read", read_logic_corpus(files, most_operators=1, split="b", seed=3)),
        ("drawn", draw_logic_corpus(
            most_operators=2, most_instances=50, test_instances=4, balance=[1, 2, 1]
        )),
    ):  # fmt: skip
        for name in ("train", "valid", "test"):
            assert of_corpus(corpus, name) == pairs(tmp_path / folder, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most_operators": -1}, "--most-operators must be 0 or more, not -1"),
        ({"most_instances": 3}, "--most-instances must be 10 or more, not 3"),
        ({"test_instances": 0}, "--test-instances must be 1 or more, not 0"),
        ({"split": "d"}, "unknown --split 'd'; choose one of a, b, c"),
        ({"balance": "even"}, "--balance 'even' is neither equal, released, nor shares"),
        ({"balance": [0] * 7}, "is neither"),
        ({"balance": [3, -1, 1, 1, 1, 1, 1]}, "is neither"),
    ],
)
def test_python_refuses_what_the_command_line_does(options, message):
    with pytest.raises(InputError, match=message):
        draw_logic_corpus(**options)


@pytest.mark.data
@WITH_DATA
@pytest.mark.parametrize(
    ("split", "kept", "tested"),
    [("a", 128_969, 1_369), ("b", 87_948, 9_257), ("c", 51_896, 12_757)],
)
def test_the_released_pairs_give_the_counts_of_table_4(monkeypatch, split, kept, tested):
    monkeypatch.setattr(propositional_logic, "read_pairs", READ_ONCE)
    splits = read_logic_corpus(DATA, split=split).splits
    assert len(splits["train"]) + len(splits["valid"]) == kept and len(splits["test"]) == tested
