"""ListOps (Nangia and Bowman, 2018): the released files, and the value of an expression."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_struct.data.readers.formulas.formula_trees import DIGITS, constituents
from fairseq_struct.data.readers.labelled_text import Instance
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines

_FUNCTIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
}


def value_of(tokens: Sequence[str]) -> int:
    """Value of an expression, 0 to 9.

    ``[MIN`` and ``[MAX`` are the smallest and largest argument, ``[MED`` the median, cut to an
    integer, and ``[SM`` the sum modulo 10.

    Raises:
        ValueError: as for :func:`.constituents`.
    """
    constituents(tokens, "listops")  # refuses what is no expression
    inside: list[tuple[str, list[int]]] = [("", [])]  # operator and arguments of the open lists
    for token in tokens:
        if token in _FUNCTIONS:
            inside.append((token, []))
        elif token == "]":
            operator, arguments = inside.pop()
            inside[-1][1].append(_FUNCTIONS[operator](arguments))
        else:
            inside[-1][1].append(int(token))
    return inside[0][1][0]


def read_listops(path: Path) -> list[Instance]:
    """Read lines ``label TAB expression``; the round brackets of the released files are left out.

    Raises:
        InputError: the file is missing or holds no expression, a line is malformed, or a label is
            not its expression's value.
    """
    instances = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if not tab or label.strip() not in DIGITS:
            raise InputError(f"{path}:{number}: expected a digit, a tab and an expression")
        try:
            tokens = _without_round_brackets(text.split())
            value = value_of(tokens)
        except ValueError as error:
            raise InputError(f"{path}:{number}: no expression of ListOps: {error}") from None
        if value != int(label):
            raise InputError(
                f"{path}:{number}: the label is {label.strip()}, but the expression has the value "
                f"{value}"
            )
        instances.append(Instance((" ".join(tokens),), str(value), number))
    if not instances:
        raise InputError(f"{path}: holds no expression")
    return instances


def _without_round_brackets(words: Sequence[str]) -> list[str]:
    depth = 0
    for place, word in enumerate(words, 1):
        depth += (word == "(") - (word == ")")
        if depth < 0:
            raise ValueError(f"')' (word {place}) closes nothing")
        if word == ")" and words[place - 2] == "(":
            raise ValueError(f"')' (word {place}) closes an empty bracket")
    if depth:
        raise ValueError(f"{depth} round bracket(s) not closed at the end")
    return [word for word in words if word not in ("(", ")")]
