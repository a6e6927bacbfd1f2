"""Drawn expressions of ListOps, also of given lengths, which are rare among all expressions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from random import Random

import numpy as np

from fairseq_struct.data.readers.formulas.formula_trees import DIGITS, LIST_OPERATORS
from fairseq_struct.errors import InputError

PATIENCE = 10_000  # draws in a row without a new expression


@dataclass(frozen=True)
class Expressions:
    """The distribution of Nangia and Bowman (2018).

    The root is a list. Below it, a node is a list with probability ``lists``, else a digit; at the
    last level all nodes are digits. Operators, digits and numbers of arguments are uniform. In the
    released data the root may be a digit, too, which matters little: trees are distinct there, so
    that these are ten among 100,000.

    Args:
        arguments: least and largest number of arguments of a list.
        depth: levels of nodes, the root the first; so a digit lies in at most ``depth - 1`` lists.
        tokens: least and largest number of tokens; None for any.
        lists: probability.

    Raises:
        InputError: a number out of range, or no expression has so many tokens.
    """

    arguments: tuple[int, int] = (2, 5)
    depth: int = 20
    tokens: tuple[int, int] | None = None
    lists: float = 0.25

    def __post_init__(self):
        if not 1 <= self.arguments[0] <= self.arguments[1]:
            raise InputError(f"a list cannot have {self.arguments} arguments")
        if self.depth < 2:
            raise InputError(f"lists and their digits are 2 levels or more, not {self.depth}")
        if not 0 <= self.lists < 1:
            raise InputError(
                f"the probability of lists must be 0 or more and below 1: {self.lists}"
            )
        if self.tokens and not 1 <= self.tokens[0] <= self.tokens[1]:
            raise InputError(f"expressions cannot have {self.tokens} tokens")
        self._sizes()  # refuses numbers of tokens that no expression has

    def draw(self, count: int, generator: Random, exclude: Collection[str] = ()) -> list[str]:
        """Draw distinct expressions, tokens separated by spaces, in random order.

        Args:
            count: number of expressions.
            generator: source of random numbers.
            exclude: expressions that are not drawn.

        Raises:
            InputError: there seem to be no more distinct expressions.
        """
        found: dict[str, None] = {}
        sizes = self._sizes()
        missed = 0
        while len(found) < count:
            one = " ".join(self._any(generator) if sizes is None else sizes.draw(generator))
            missed = missed + 1 if one in found or one in exclude else 0
            if missed > PATIENCE:
                raise InputError(
                    f"there are no {count} distinct expressions with these options: after "
                    f"{len(found)}, {PATIENCE} draws in a row gave none that was new"
                )
            if not missed:
                found[one] = None
        # The first draws hold more of the short expressions, which soon are all drawn.
        return generator.sample(list(found), count)

    def _any(self, generator: Random) -> list[str]:
        tokens: list[str] = []
        waiting: list[int] = [1]  # levels of the nodes to come; 0 is the end of a list
        while waiting:
            level = waiting.pop()
            if level == 0:
                tokens.append("]")
            elif level == 1 or level < self.depth and generator.random() < self.lists:
                tokens.append(generator.choice(LIST_OPERATORS))
                waiting += [0, *[level + 1] * generator.randint(*self.arguments)]
            else:
                tokens.append(generator.choice(DIGITS))
        return tokens

    def _sizes(self) -> SizedExpressions | None:
        if self.tokens is None:
            return None
        return SizedExpressions(self, *self.tokens)


class SizedExpressions:
    """The expressions with a number of tokens in a range, each with its exact probability.

    P_l(n), the probability that a node of level l has n tokens, follows from the levels below:
    P_l(n) = (1 - q) [n = 1] + q mean_k P_{l+1}^{*k}(n - 2), where k is the number of arguments, q
    the probability of lists, and *k the k-fold convolution. Drawing goes down: the size of the
    whole, then for each list the number of its arguments and their sizes.

    Args:
        expressions: without this restriction.
        least, most: number of tokens.

    Raises:
        InputError: no expression has such a size.
    """

    def __init__(self, expressions: Expressions, least: int, most: int):
        self.numbers = range(expressions.arguments[0], expressions.arguments[1] + 1)
        digit = np.zeros(most + 1)
        digit[1:2] = 1
        node = digit
        # Level l + 1 -> distributions of the sizes of 0, 1, ... nodes of this level.
        self.powers: dict[int, list[np.ndarray]] = {}
        for level in range(expressions.depth - 1, 0, -1):
            self.powers[level + 1] = powers = [np.eye(1, most + 1)[0]]
            for _ in range(self.numbers[-1]):
                powers.append(np.convolve(powers[-1], node)[: most + 1])
            lists = np.zeros(most + 1)
            lists[2:] = np.mean([powers[k] for k in self.numbers], 0)[: max(most - 1, 0)]
            node = (1 - expressions.lists) * digit + expressions.lists * lists
        self.whole = lists
        self.whole[:least] = 0
        if not self.whole.any():
            raise InputError(f"no expression with these options has {least} to {most} tokens")

    def draw(self, generator: Random) -> list[str]:
        """Draw an expression's tokens."""
        tokens: list[str] = []
        waiting = [
            (1, _place(self.whole, generator.random()))
        ]  # levels and sizes; size 0 ends a list
        while waiting:
            level, size = waiting.pop()
            if size == 0:
                tokens.append("]")
            elif size == 1:
                tokens.append(generator.choice(DIGITS))
            else:
                tokens.append(generator.choice(LIST_OPERATORS))
                waiting += [(0, 0), *((level + 1, n) for n in self._parts(level, size, generator))]
        return tokens

    def _parts(self, level: int, size: int, generator: Random) -> list[int]:
        """Sizes of the arguments of a list of ``size`` tokens."""
        powers, rest = self.powers[level + 1], size - 2
        chances = np.array([powers[k][rest] for k in self.numbers])
        count = _place(chances, generator.random())
        parts = []
        for left in range(self.numbers[count] - 1, -1, -1):
            # The chances of all sizes add up to that of the rest: most draws need the first alone.
            drawn = generator.random()
            if drawn * powers[left + 1][rest] < powers[1][1] * powers[left][rest - 1]:
                parts.append(1)
            else:
                parts.append(_place(powers[1][: rest + 1] * powers[left][rest::-1], drawn))
            rest -= parts[-1]
        return parts


def _place(chances: np.ndarray, drawn: float) -> int:
    """The place of a number between 0 and 1, where each place is as wide as its chance."""
    sums = chances.cumsum()
    return int(np.searchsorted(sums, drawn * sums[-1], side="right"))
