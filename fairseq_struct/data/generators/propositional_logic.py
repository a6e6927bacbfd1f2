"""Drawn pairs of formulas of propositional logic, labelled by their truth tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from fairseq_struct.data.readers.formulas.propositional_logic import (
    MOST_OPERATORS,
    PairsByOperators,
)
from fairseq_struct.data.readers.formulas.truth_tables import VARIABLES, relation
from fairseq_struct.data.readers.labelled_text import Instance
from fairseq_struct.errors import InputError

PATIENCE = 10_000  # draws in a row without a new pair
VARIABLES_OF_A_PAIR = 4
NEGATIONS = 0.45  # share of formulas with operators that begin with "not"
# Shares of the shorter formulas without operators, and with one; the others are uniform.
SHORT = (0.45, 0.28)
# Number of released training pairs whose longer formula has 0, 1, … operators. The file train12
# holds those of 12 and more.
RELEASED = (
    30, 2319, 12451, 23252, 30373, 34152, 32952, 26671, 18962, 12634, 8181, 4894, 2620, 1312, 574,
    232, 72, 16, 4, 1,
)  # fmt: skip
# Balances with a name.
EQUAL, AS_RELEASED = "equal", "released"


def draw_by_operators(
    most_operators: int, count: int, tests: int, shares: Sequence[int], seed: int
) -> tuple[list[Instance], PairsByOperators]:
    """Draw training and test pairs of each number of operators; no pair is in both.

    Test pairs have 0 to 12 operators, as the released ones do, or more if training pairs do. What
    short formulas cannot give, because there are few, longer ones do.

    Args:
        most_operators: maximum operators of the longer formula in training.
        count: number of training pairs.
        tests: number of test pairs of each number of operators.
        shares: training pairs of 0, 1, … operators, relative to each other.
        seed: of the draws.

    Returns:
        Training pairs, and test pairs by number of operators.
    """
    train: list[Instance] = []
    tested: PairsByOperators = {}
    for number in range(max(most_operators, MOST_OPERATORS) + 1):
        left = count - len(train)
        wanted = -(-left * shares[number] // sum(shares[number:])) if any(shares[number:]) else 0
        every = wanted + tests
        found = draw_pairs(number, every, Random(f"{seed} {number}"))
        for_tests = len(found) * tests // every
        tested[number] = f"{number} operators", found[:for_tests]
        train += found[for_tests:]
    return train, tested


def shares_of(balance: str | Sequence[int], most_operators: int) -> Sequence[int]:
    """Training pairs of 0, 1, … operators, relative to each other.

    Args:
        balance: ``equal``; ``released``, the proportions of the released pairs; or the shares.
        most_operators: maximum number of operators.

    Raises:
        InputError: the balance is none, or for another number of operators.
    """
    if balance == EQUAL:
        return [1] * (most_operators + 1)
    if balance == AS_RELEASED:
        if most_operators >= len(RELEASED):
            raise InputError(
                f"--balance {balance}: the released pairs have up to {len(RELEASED) - 1} "
                f"operators; --most-operators is {most_operators}"
            )
        return RELEASED[: most_operators + 1]
    if isinstance(balance, str) or min(balance, default=0) < 0 or not any(balance):
        raise InputError(f"--balance {balance!r} is neither {EQUAL}, {AS_RELEASED}, nor shares")
    if len(balance) != most_operators + 1:
        raise InputError(
            f"--balance has {len(balance)} numbers, for up to {len(balance) - 1} operators; "
            f"--most-operators is {most_operators}"
        )
    return balance


def draw_pairs(
    operators: int, count: int, generator: Random, exclude: Collection[tuple[str, str]] = ()
) -> list[Instance]:
    """Draw distinct pairs of formulas, labelled; fewer than ``count`` if there seem to be no more.

    They come in random order: of few pairs, the first draws would hold the likeliest.

    A pair has at most four variables, as the released ones do, and no formula that is always or
    never true. The shorter formula has as many operators as those of the released pairs: often
    none or one.

    Args:
        operators: number of operators of the longer formula.
        count: number of pairs.
        generator: source of random numbers.
        exclude: pairs that are not drawn.
    """
    found: dict[tuple[str, str], Instance] = {}
    missed = 0
    while len(found) < count and missed < PATIENCE:
        missed += 1
        variables = generator.sample(VARIABLES, VARIABLES_OF_A_PAIR)
        sizes = [operators, _fewer(operators, generator)]
        generator.shuffle(sizes)
        first, second = (_formula(size, variables, generator) for size in sizes)
        if (first, second) in found or (first, second) in exclude:
            continue
        try:
            label = relation(first.split(), second.split())
        except ValueError:
            continue
        found[first, second] = Instance((first, second), label, len(found) + 1)
        missed = 0
    return generator.sample(list(found.values()), len(found))


def _fewer(operators: int, generator: Random) -> int:
    drawn = generator.random()
    if drawn < SHORT[0] or operators == 0:
        return 0
    return 1 if drawn < sum(SHORT) or operators == 1 else generator.randint(2, operators)


def _formula(operators: int, variables: Sequence[str], generator: Random) -> str:
    if operators == 0:
        return generator.choice(variables)
    if generator.random() < NEGATIONS:
        return f"( not {_formula(operators - 1, variables, generator)} )"
    left = generator.randrange(operators)
    first = _formula(left, variables, generator)
    second = _formula(operators - 1 - left, variables, generator)
    return f"( {first} ( {generator.choice(('and', 'or'))} {second} ) )"
