"""Propositional logic as a corpus: released pairs of formulas or drawn ones, and their splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from fairseq_struct.data.generators.propositional_logic import (
    EQUAL,
    draw_by_operators,
    draw_pairs,
    shares_of,
)
from fairseq_struct.data.readers.formulas.propositional_logic import (
    HELD_OUT,
    PairsByOperators,
    held_by_split,
    read_released,
)
from fairseq_struct.data.readers.formulas.truth_tables import RELATIONS
from fairseq_struct.data.readers.labelled_text import (
    LEAST_INSTANCES,
    Instance,
    LabelledCorpus,
    with_validation,
)
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.option_checks import values_at_least

# Training and validation pairs that are drawn, and test pairs of each number of operators.
DRAWN, DRAWN_TESTS = 100_000, 1000


def read_logic_corpus(
    folder: str | Path,
    *,
    most_operators: int = 6,
    most_instances: int | None = None,
    split: str | None = None,
    seed: int = 1,
) -> LabelledCorpus:
    """Read the released pairs; a tenth of the training pairs validates.

    Args:
        folder: it holds ``train0``, ``train1``, … and ``test0``, ``test1``, …
        most_operators: maximum operators of the longer formula in training.
        most_instances: maximum number of training and validation pairs, drawn at random; None for
            all.
        split: ``a``, ``b`` or ``c``: training is without the formulas that this split keeps from
            it, and the split ``test`` has the pairs with such formulas and with more operators.
            None: ``test`` has all test files.
        seed: of the draws.

    Returns:
        The corpus, for :func:`.write_labelled_folder`.

    Raises:
        InputError: a file is missing or malformed, a number is out of range, or there are too few
            pairs.
    """
    _check(most_operators, most_instances, split)
    train, tests = read_released(folder, most_operators)
    if split:
        train, tests = _split_pairs(train, tests, split, most_operators)
    return LabelledCorpus(
        "propositional_logic", _splits(train, tests, most_instances, seed, str(folder))
    )


def draw_logic_corpus(
    *,
    most_operators: int = 6,
    most_instances: int = DRAWN,
    test_instances: int = DRAWN_TESTS,
    balance: str | Sequence[int] = EQUAL,
    split: str | None = None,
    seed: int = 1,
) -> LabelledCorpus:
    """Draw pairs, labelled by truth tables; a tenth of the training pairs validates.

    Args:
        most_operators: maximum operators of the longer formula in training.
        most_instances: number of training and validation pairs.
        test_instances: test pairs of each number of operators, of which there are 0 to 12.
        balance: how many training pairs have 0, 1, … operators, as for :func:`.shares_of`.
        split: as for :func:`read_logic_corpus`.
        seed: of the draws.

    Returns:
        The corpus, for :func:`.write_labelled_folder`.

    Raises:
        InputError: a number is out of range, the balance is for another number of operators, or
            there are too few pairs.
    """
    _check(most_operators, most_instances, split)
    values_at_least(1, test_instances=test_instances)
    shares = shares_of(balance, most_operators)
    train, tests = draw_by_operators(most_operators, most_instances, test_instances, shares, seed)
    if split:
        train, tests = _split_pairs(train, tests, split, most_operators)
    return LabelledCorpus(
        "propositional_logic",
        _splits(train, tests, most_instances, seed, "generate", RELATIONS),
        labels=RELATIONS,
        generator=draw_pairs.__module__,
    )


def _check(most_operators: int, most_instances: int | None, split: str | None):
    values_at_least(0, most_operators=most_operators)
    if most_instances is not None:
        values_at_least(LEAST_INSTANCES, most_instances=most_instances)
    if split is not None and split not in HELD_OUT:
        raise InputError(unknown_name("--split", split, HELD_OUT))


def _split_pairs(
    train: list[Instance], tests: PairsByOperators, split: str, most_operators: int
) -> tuple[list[Instance], PairsByOperators]:
    """Training pairs without what a split keeps from them, and the longer test pairs with it."""
    held = held_by_split(split)
    tests = {
        number: (place, list(filter(held, found)))
        for number, (place, found) in tests.items()
        if number > most_operators
    }
    if not any(found for _, found in tests.values()):
        raise InputError(f"--split {split}: no test pair is in it")
    return [instance for instance in train if not held(instance)], tests


def _splits(
    train: list[Instance],
    tests: PairsByOperators,
    most_instances: int | None,
    seed: int,
    source: str,
    labels: Sequence[str] = (),
) -> dict[str, list[Instance]]:
    if len(train) < LEAST_INSTANCES:
        raise InputError(
            f"{source}: {len(train)} training pairs are too few: a tenth is for validation"
        )
    Random(seed).shuffle(train)
    splits = with_validation(train[:most_instances])
    known = {*labels, *(instance.label for instance in splits["train"])}
    for place, found in tests.values():
        wrong = next((one for one in found if one.label not in known), None)
        if wrong:
            raise InputError(
                f"{place}:{wrong.line}: the relation {wrong.label!r} is not in the training split"
            )
    return {**splits, "test": [instance for _, found in tests.values() for instance in found]}
