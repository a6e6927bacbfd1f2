"""Drawn pairs of formulas of propositional logic, labelled by their truth tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from fairseq_struct.data.readers.formulas.truth_tables import VARIABLES, relation
from fairseq_struct.data.readers.labelled_text import Instance

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
