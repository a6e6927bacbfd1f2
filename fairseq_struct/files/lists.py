"""Lists of the recipes: files of tab-separated lines with a head, each line an object."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text

Line = TypeVar("Line")


def read_list(path: Path, kind: type[Line]) -> list[Line]:
    """Read a list, in its order; empty if the file does not exist.

    Args:
        path: the file.
        kind: dataclass of a line, whose fields are the columns.

    Raises:
        InputError: a line has too few or too many fields.
    """
    if not path.is_file():
        return []
    names = [field.name for field in fields(kind)]
    lines = csv.DictReader(read_text(path).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    found = []
    for line in lines:
        if list(line) != names or None in line.values():
            raise InputError(f"{path}:{lines.line_num}: must have the fields {', '.join(names)}")
        found.append(kind(**line))
    return found
