"""Test sets of targeted syntactic evaluation (Marvin, Linzen, 2018): pairs of sentences.

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
from collections.abc import Iterator
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines, reading

Case = list[tuple[str, ...]]


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
