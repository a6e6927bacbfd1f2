"""Ascending and descending runs of consecutive numbers with hidden numbers, to be completed.

Source: T. Mihaylova's thesis, section 5.4. Its text says lengths 8 to 25, but its 706K training and
78K test examples are the 785,142 of lengths 8 to 24.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from fairseq_struct.errors import InputError, unknown_name

SYMBOLS, SHORTEST, LONGEST = 64, 8, 24
MOST_SYMBOLS = 978  # with more, the numbers of the sequences would not fit into 16 bits
WAYS_TO_SPLIT = ("random", "runs")
# Shares of all examples, and of those that are left, in the test and in the validation part.
TEST_SHARE, VALID_SHARE = 0.1, 0.02


class HiddenExamples(NamedTuple):
    """Sequences, and which of their symbols are hidden.

    Attributes:
        sequences: (s, longest) symbols from 0, with -1 after the end.
        examples: (n, 1 + m): the number of a sequence, then the hidden places, with -1 after the
            last one.
    """

    sequences: np.ndarray
    examples: np.ndarray


def most_hidden(length: int) -> int:
    """ceil(n / 10) of n symbols are hidden at most."""
    return -(-length // 10)


def consecutive_runs(symbols: int = SYMBOLS) -> HiddenExamples:
    """Every run of consecutive numbers, with 1 to ceil(n / 10) of them hidden in every way.

    Args:
        symbols: the numbers are 1 to this one, and the symbols 0 to this one minus 1.

    Raises:
        InputError: fewer than 8 symbols, or more than 978.
    """
    if symbols > MOST_SYMBOLS:
        raise InputError(f"there can be {MOST_SYMBOLS} symbols at most, not {symbols}")
    if symbols < SHORTEST:
        raise InputError(f"runs of {SHORTEST} numbers need as many symbols, not {symbols}")
    lengths = range(SHORTEST, min(LONGEST, symbols) + 1)
    runs, examples, most = [], [], most_hidden(lengths[-1])
    for length in lengths:
        ascending = np.arange(symbols - length + 1)[:, None] + np.arange(length)
        padding = ((0, 0), (0, lengths[-1] - length))
        rows = np.pad(np.concatenate([ascending, ascending[:, ::-1]]), padding, constant_values=-1)
        hidden = np.array([
            [*places, *[-1] * (most - count)]
            for count in range(1, most_hidden(length) + 1)
            for places in combinations(range(length), count)
        ])  # fmt: skip
        numbers = sum(map(len, runs)) + np.arange(len(rows))
        examples.append(np.column_stack(
            [np.repeat(numbers, len(hidden)), np.tile(hidden, (len(rows), 1))]
        ))  # fmt: skip
        runs.append(rows)
    return HiddenExamples(
        np.concatenate(runs).astype(np.int16), np.concatenate(examples).astype(np.int16)
    )


def split_examples(
    examples: np.ndarray, split: str = WAYS_TO_SPLIT[0], share: float = 1.0, seed: int = 1
) -> dict[str, np.ndarray]:
    """Draw the parts ``train``, ``valid`` and ``test``.

    Args:
        examples: as of :class:`HiddenExamples`.
        split: ``random``: a tenth of the examples are for test, so that nearly every test sequence
            is in the training part with other symbols hidden; ``runs``: a tenth of the sequences,
            with all their examples. The validation part is drawn from the rest in the same way.
        share: of each part's examples that are kept, drawn at random.
        seed: of the draws.

    Raises:
        InputError: an unknown split, a share outside of (0, 1], or a part without examples.
    """
    if split not in WAYS_TO_SPLIT:
        raise InputError(unknown_name("--split", split, WAYS_TO_SPLIT))
    if not 0 < share <= 1:
        raise InputError(f"--share must be above 0 and at most 1, not {share}")
    random = np.random.default_rng(seed)
    units = examples[:, 0] if split == "runs" else np.arange(len(examples))
    order = random.permutation(int(units.max()) + 1)
    test = round(TEST_SHARE * len(order))
    valid = test + round(VALID_SHARE * (len(order) - test))
    found = {}
    for name, chosen in (
        ("train", order[valid:]), ("valid", order[test:valid]), ("test", order[:test])
    ):  # fmt: skip
        places = np.flatnonzero(np.isin(units, chosen))
        kept = np.sort(random.permutation(places)[: round(share * len(places))])
        if not len(kept):
            raise InputError(f"--share {share} leaves no examples for the {name} part")
        found[name] = examples[kept]
    return found
