"""Targeted syntactic evaluation: which of two sentences is grammatical (Marvin, Linzen, 2018).

The released test sets are pickles, each a dictionary from conditions to lists of tuples of
sentences, the grammatical one first; those of negative polarity items are triples (grammatical,
intrusive, ungrammatical). The same as tab-separated text, test case, condition, sentences, can be
read, too.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.text_files import read_lines, reading

Case = list[tuple[str, ...]]


@dataclass(frozen=True)
class Row:
    """A row of table 3 of the ON-LSTM paper.

    Attributes:
        name: of the results.
        long: whether something stands between the two words that depend on each other.
        cases: test sets it is of.
        better, worse: places of the two sentences in the sets' tuples.
        on_lstm, lstm: the paper's accuracies, 0 to 100.
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


class _Containers(pickle.Unpickler):
    """Reads dictionaries, lists, tuples, strings and numbers, and nothing that runs code."""

    def find_class(self, module: str, name: str):
        raise pickle.UnpicklingError(f"it wants to call {module}.{name}")


def read_test_sets(path: Path) -> dict[str, Case]:
    """Test sets by their names.

    Args:
        path: a folder of pickles, somewhere below it, or a .tsv file.

    Raises:
        InputError: there are none, or one is malformed; nothing in a pickle is ever executed.
    """
    if path.suffix == ".pickle" and path.is_file():
        raise InputError(f"{path}: name the folder of the test sets, not one of them")
    if path.is_file():
        return _read_text(path)
    files = sorted(path.rglob("*.pickle"))
    if not files:
        raise InputError(f"{path}: no such .tsv file, nor a folder with .pickle files")
    found: dict[str, Case] = {}
    for file in files:
        if file.stem in found:
            raise InputError(f"{path}: two files {file.name}; name the folder of one version")
        found[file.stem] = list(_read_pickle(file))
    return found


def _read_pickle(file: Path) -> Iterator[tuple[str, ...]]:
    with reading(file):
        packed = file.read_bytes()
    try:
        _look_at(packed)
        content = _Containers(io.BytesIO(packed), encoding="utf-8").load()
    except Exception as error:  # what damaged pickles raise is anything
        raise InputError(f"{file}: no test set ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: no test set (no dictionary of conditions)")
    for condition, items in content.items():
        for number, item in enumerate(items if isinstance(items, list) else [items]):
            yield _item(item, f"{file}: condition {condition!r}, item {number}")


def _look_at(packed: bytes):
    """Refuse what takes memory that the file's size does not account for.

    The unpickler makes room for whatever a number in the file says: ten bytes can ask for places
    of two to the 28th objects, or for text of as many letters.
    """
    size = len(packed)
    for operation, number, place in pickletools.genops(packed):  # it knows the lengths of text
        asked = operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and number
        asked = number + place if operation.name == "FRAME" else asked
        if asked > size:
            raise pickle.UnpicklingError(f"byte {place} asks for more room than the file has bytes")


def _read_text(path: Path) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line:
            name, *rest = line.split("\t")
            found.setdefault(name, []).append(_item(tuple(rest[1:]), f"{path}:{number}"))
    if not found:
        raise InputError(f"{path}: empty")
    return found


def _item(item, place: str) -> tuple[str, ...]:
    fits = isinstance(item, tuple | list) and len(item) in (2, 3)
    if not fits or not all(isinstance(text, str) and text.split() for text in item):
        raise InputError(f"{place}: expected two or three sentences")
    # One string for all that are equal: a pickle may name the same one any number of times.
    return tuple(sys.intern(" ".join(text.split())) for text in item)


def accuracies(
    sets: Mapping[str, Case], scores: Mapping[str, float], told_apart=lambda better, worse: True
) -> dict[str, tuple[float, int, int]]:
    """Accuracy (0 to 100) of each row, its pairs, and those that can be told apart.

    A pair counts as right if the better sentence has the higher score; equal scores are wrong.

    Args:
        sets: of :func:`read_test_sets`; rows without all of their sets are left out.
        scores: of every sentence.
        told_apart: whether a model can tell the two sentences from each other at all.

    Raises:
        InputError: the sets of no row are there, or items lack the third sentence.
    """
    result = {}
    for row in ROWS:
        if not all(case in sets for case in row.cases):
            continue
        items = [item for case in row.cases for item in sets[case]]
        if not items:
            raise InputError(f"{', '.join(row.cases)}: no item in this test set")
        if any(len(item) <= row.worse for item in items):
            raise InputError(f"{', '.join(row.cases)}: expected three sentences in each item")
        pairs = [(item[row.better], item[row.worse]) for item in items]
        right = sum(scores[better] > scores[worse] for better, worse in pairs)
        apart = sum(told_apart(better, worse) for better, worse in pairs)
        result[row.name] = 100 * right / len(pairs), len(pairs), apart
    if not result:
        raise InputError(f"no row of the table can be made of the sets {', '.join(sorted(sets))}")
    return result
