"""Reader of the test sets of targeted syntactic evaluation (Marvin and Linzen, 2018).

The released test sets are pickles. Each is a dictionary from conditions to lists of tuples of
sentences, the grammatical one first. Tuples of negative polarity items are triples (grammatical,
intrusive, ungrammatical). Tab-separated text is also read; its columns are the test case, the
condition and the sentences.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from collections.abc import Iterator
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import files_of, read_lines, reading

Case = list[tuple[str, ...]]


class _Containers(pickle.Unpickler):
    """Unpickles dictionaries, lists, tuples, strings and numbers; refuses everything else."""

    def find_class(self, module: str, name: str):
        raise pickle.UnpicklingError(f"it asks to import {module}.{name}")


def read_test_sets(path: Path) -> dict[str, Case]:
    """Read test sets, by name. Code in a pickle is never executed.

    Args:
        path: a folder with pickles below it, or a .tsv file.

    Raises:
        InputError: there are no test sets, or one is malformed.
    """
    if path.suffix == ".pickle" and path.is_file():
        raise InputError(f"{path}: one test set; name the folder of all test sets")
    if path.is_file():
        return _read_text(path)
    files = files_of(path, "**/*.pickle")
    if not files:
        raise InputError(f"{path}: no such .tsv file, nor a folder with .pickle files")
    found: dict[str, Case] = {}
    for file in files:
        if file.stem in found:
            raise InputError(f"{path}: has two files {file.name}; name the folder of one version")
        found[file.stem] = list(_read_pickle(file))
    return found


def _read_pickle(file: Path) -> Iterator[tuple[str, ...]]:
    with reading(file):
        packed = file.read_bytes()
    try:
        _look_at(packed)
        content = _Containers(io.BytesIO(packed), encoding="utf-8").load()
    except Exception as error:  # damaged pickles may raise any exception
        raise InputError(f"{file}: not a test set ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: not a test set (not a dictionary of conditions)")
    for condition, items in content.items():
        for number, item in enumerate(items if isinstance(items, list) else [items]):
            yield _item(item, f"{file}: condition {condition!r}, item {number}")


def _look_at(packed: bytes):
    """Refuse a pickle that requests more memory than its size justifies.

    The unpickler allocates as much as a number in the file says. Ten bytes can request places for
    2^28 objects, or text of 2^28 letters.
    """
    size = len(packed)
    for operation, number, place in pickletools.genops(packed):  # genops checks the lengths of text
        asked = operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and number
        asked = number + place if operation.name == "FRAME" else asked
        if asked > size:
            raise pickle.UnpicklingError(
                f"byte {place} asks for more memory than the file has bytes"
            )


def _read_text(path: Path) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line:
            name, *rest = line.split("\t")
            place = f"{path}:{number}: after the names of set and condition"
            found.setdefault(name, []).append(_item(tuple(rest[1:]), place))
    if not found:
        raise InputError(f"{path}: empty file")
    return found


def _item(item, place: str) -> tuple[str, ...]:
    fits = isinstance(item, tuple | list) and len(item) in (2, 3)
    if not fits or not all(isinstance(text, str) and text.split() for text in item):
        raise InputError(f"{place}: expected two or three sentences")
    # Equal strings share memory: a pickle may refer to the same string any number of times.
    return tuple(sys.intern(" ".join(text.split())) for text in item)
