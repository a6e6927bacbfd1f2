"""Targeted syntactic evaluation: which of two sentences a language model finds more likely.

The test sets are from Marvin and Linzen (2018). The rows are those of table 3 of the ON-LSTM
paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fairseq_struct.data.readers.syntactic_evaluation import Case
from fairseq_struct.errors import InputError


@dataclass(frozen=True)
class Row:
    """A row of table 3 of the ON-LSTM paper.

    Attributes:
        name: name of the result.
        long: whether other words separate the two words that depend on each other.
        cases: test sets of the row.
        better, worse: indices of the two sentences in the tuples of the test sets.
        on_lstm, lstm: accuracies in the ON-LSTM paper, 0 to 100.
    """

    name: str
    long: bool
    cases: tuple[str, ...]
    better: int
    worse: int
    on_lstm: float
    lstm: float


def _both(name: str) -> tuple[str, str]:
    return f"{name}_anim", f"{name}_inanim"


ROWS = (
    Row("agreement_simple", False, ("simple_agrmt",), 0, 1, 99, 100),
    Row("agreement_sentential_complement", False, ("sent_comp",), 0, 1, 95, 98),
    Row("agreement_short_vp_coordination", False, ("vp_coord",), 0, 1, 89, 92),
    Row("agreement_in_object_relative", False, _both("obj_rel_within"), 0, 1, 84, 88),
    Row("agreement_in_object_relative_no_that", False, _both("obj_rel_no_comp_within"), 0, 1,
        78, 81),
    Row("reflexive_simple", False, ("simple_reflexives",), 0, 1, 89, 82),
    Row("reflexive_sentential_complement", False, ("reflexive_sent_comp",), 0, 1, 86, 80),
    Row("npi_simple_grammatical_intrusive", False, _both("simple_npi"), 0, 1, 18, 100),
    Row("npi_simple_intrusive_ungrammatical", False, _both("simple_npi"), 1, 2, 50, 1),
    Row("npi_simple_grammatical_ungrammatical", False, _both("simple_npi"), 0, 2, 7, 63),
    Row("agreement_long_vp_coordination", True, ("long_vp_coord",), 0, 1, 74, 74),
    Row("agreement_across_prepositional_phrase", True, _both("prep"), 0, 1, 67, 68),
    Row("agreement_across_subject_relative", True, ("subj_rel",), 0, 1, 66, 60),
    Row("agreement_across_object_relative", True, _both("obj_rel_across"), 0, 1, 57, 52),
    Row("agreement_across_object_relative_no_that", True, _both("obj_rel_no_comp_across"), 0, 1,
        54, 51),
    Row("reflexive_across_relative", True, ("reflexives_across",), 0, 1, 57, 58),
    Row("npi_across_grammatical_intrusive", True, _both("npi_across"), 0, 1, 59, 95),
    Row("npi_across_intrusive_ungrammatical", True, _both("npi_across"), 1, 2, 20, 0),
    Row("npi_across_grammatical_ungrammatical", True, _both("npi_across"), 0, 2, 11, 4),
)  # fmt: skip


class Accuracy(NamedTuple):
    """A model's result for a row.

    Args:
        accuracy: share of pairs whose better sentence has the higher score, 0 to 100.
        pairs: number of pairs.
        apart: number of pairs whose sentences the model can distinguish.
    """

    accuracy: float
    pairs: int
    apart: int


def evaluate_syntax(
    sets: Mapping[str, Case],
    log_probabilities: Callable[[list[tuple[str, ...]]], Iterable[float]],
    index: Callable[[str], int],
) -> dict[str, Accuracy]:
    """Compute the :func:`accuracies` of a language model; it scores every sentence once.

    Args:
        sets: test sets of :func:`.read_test_sets`.
        log_probabilities: maps sentences, each a tuple of words, to their log-probabilities.
        index: maps a word to its index; all unknown words have the same index.

    Raises:
        InputError: as for :func:`accuracies`.
    """
    sentences = sorted({text for items in sets.values() for item in items for text in item})
    found = log_probabilities([tuple(text.split()) for text in sentences])
    scores = dict(zip(sentences, found, strict=True))

    def told_apart(better: str, worse: str) -> bool:
        return list(map(index, better.split())) != list(map(index, worse.split()))

    return accuracies(sets, scores, told_apart)


def accuracies(
    sets: Mapping[str, Case], scores: Mapping[str, float], told_apart=lambda better, worse: True
) -> dict[str, Accuracy]:
    """Accuracy of each row.

    A pair counts as right if the better sentence has the higher score. Equal scores are wrong, and
    so is a pair that is not told apart: its scores differ by rounding at most, as do those of one
    sentence in two batches.

    Args:
        sets: test sets of :func:`.read_test_sets`; rows with a missing set are left out.
        scores: score of every sentence.
        told_apart: whether the model can distinguish two sentences.

    Raises:
        InputError: no row has all its sets, a set is empty, or items lack the third sentence.
    """
    result = {}
    for row in ROWS:
        if not all(case in sets for case in row.cases):
            continue
        items = [item for case in row.cases for item in sets[case]]
        if empty := [case for case in row.cases if not sets[case]]:
            raise InputError(f"{', '.join(empty)}: this test set is empty")
        if any(len(item) <= row.worse for item in items):
            raise InputError(f"{', '.join(row.cases)}: expected three sentences in each item")
        pairs = [(item[row.better], item[row.worse]) for item in items]
        apart = [pair for pair in pairs if told_apart(*pair)]
        right = sum(scores[better] > scores[worse] for better, worse in apart)
        result[row.name] = Accuracy(100 * right / len(pairs), len(pairs), len(apart))
    if not result:
        raise InputError(f"no row of the table has all its test sets in {', '.join(sorted(sets))}")
    return result


def in_percent(found: Mapping[str, Accuracy]) -> dict[str, float]:
    """Accuracy of each row, and ``told_apart``, rounded to two places."""
    values = {name: round(row.accuracy, 2) for name, row in found.items()}
    return values | {"told_apart": round(share_told_apart(found), 2)}


def share_told_apart(found: Mapping[str, Accuracy]) -> float:
    """Share of the pairs of all rows that the model can distinguish, 0 to 100."""
    return 100 * sum(row.apart for row in found.values()) / sum(row.pairs for row in found.values())


def sets_of_no_row(sets: Iterable[str], rows: Iterable[str]) -> list[str]:
    """Names of test sets that are in none of the named rows."""
    rows = set(rows)
    return sorted(set(sets) - {case for row in ROWS if row.name in rows for case in row.cases})
