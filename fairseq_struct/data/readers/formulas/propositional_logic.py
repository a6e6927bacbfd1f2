"""Pairs of formulas of propositional logic (Bowman et al., 2015), and splits by what they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_struct.data.readers.formulas.formula_trees import LOGICAL_OPERATORS
from fairseq_struct.data.readers.formulas.truth_tables import relation
from fairseq_struct.data.readers.labelled_text import Instance
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines

# What training must not hold: ``( and ( not a ) )``, ``( and ( not X ) )``, and ``or`` as well.
# Table 4 of Shen's thesis counts 128,969, 87,948 and 51,896 pairs without these; an X that is any
# variable would leave 98,795 in split a.
HELD_OUT: dict[str, re.Pattern] = {
    "a": re.compile(r"\( and \( not a \) \)"),
    "b": re.compile(r"\( and \( not "),
    "c": re.compile(r"\( (and|or) \( not "),
}

# Pairs by number of operators, each with its place for messages.
PairsByOperators = dict[int, tuple[str, list[Instance]]]

# The last file of the released test set has formulas with so many operators, or more.
MOST_OPERATORS = 12


def operators_of_longer(sentences: Sequence[str]) -> int:
    """Operators of the longer formula of a pair; more than ``MOST_OPERATORS`` count as these.

    Args:
        sentences: the two formulas.
    """
    counts = (sum(word in LOGICAL_OPERATORS for word in side.split()) for side in sentences)
    return min(max(counts), MOST_OPERATORS)


def held_by_split(split: str) -> Callable[[Instance], bool]:
    """Whether a formula of a pair holds what a split keeps from training.

    Args:
        split: ``a``, ``b`` or ``c``.
    """
    return lambda instance: any(map(HELD_OUT[split].search, instance.sentences))


def read_released(
    folder: str | Path, most_operators: int
) -> tuple[list[Instance], PairsByOperators]:
    """Read a folder with the files ``train0``, ``train1``, … and ``test0``, ``test1``, …

    Args:
        folder: the number of a file in it is that of the longer formula's operators.
        most_operators: maximum of this number in training.

    Returns:
        Training pairs, and the pairs of each test file.

    Raises:
        InputError: a file is missing or malformed.
    """
    folder = Path(folder)
    train = [
        instance
        for number in range(most_operators + 1)
        for instance in read_pairs(folder / f"train{number}")
    ]
    files = {
        int(file.name[4:]): file for file in folder.glob("test*") if file.name[4:].isdecimal()
    }
    if not files:
        raise InputError(f"{folder}/test0: no such file")
    tests = {number: (str(file), read_pairs(file)) for number, file in sorted(files.items())}
    return train, tests


def read_pairs(file: Path) -> list[Instance]:
    """Read lines ``relation TAB formula TAB formula``.

    Raises:
        InputError: the file is missing or malformed, a formula is none or has other variables than
            a to f, or the relation is not that of the truth tables.
    """
    instances = []
    for number, line in enumerate(read_lines(file), 1):
        if not line.strip():
            continue
        given, *formulas = line.split("\t")
        sentences = tuple(" ".join(formula.split()) for formula in formulas)
        if len(sentences) != 2 or not all(sentences) or len(given.split()) != 1:
            raise InputError(f"{file}:{number}: expected a relation and two formulas")
        try:
            true = relation(*(sentence.split(" ") for sentence in sentences))
        except ValueError as error:
            raise InputError(f"{file}:{number}: {error} ({_wrong(sentences)})") from None
        if given.strip() != true:
            raise InputError(
                f"{file}:{number}: the relation is {true!r} by the truth tables, not "
                f"{given.strip()!r}"
            )
        instances.append(Instance(sentences, true, number))
    return instances


def _wrong(sentences: Sequence[str]) -> str:
    """Which of two formulas has no relation to the other."""
    for name, sentence in zip(("first", "second"), sentences, strict=True):
        try:
            relation(sentence.split(" "), sentence.split(" "))
        except ValueError:
            return f"the {name} formula"
    raise AssertionError("both are formulas")
