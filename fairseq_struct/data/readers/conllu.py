"""CoNLL-U files: dependency trees with one line per word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import without_spaces
from fairseq_struct.files.text_files import read_lines

_MOST_DIGITS = 10  # Python refuses to read numbers of thousands of digits
UNKNOWN_HEAD = -1  # a head that is not given
_NO_WORD = re.compile(r"\d+-\d+|\d+\.\d+")


@dataclass(frozen=True)
class Sentence:
    """A sentence with its tree.

    Attributes:
        words: forms.
        heads: 1-based, 0 for the root; ``UNKNOWN_HEAD`` where a file leaves it open.
        line: number of its first line in the file.
        tags: parts of speech, universal ones in CoNLL-U; () if there are none.
        relations: relations of the words to their heads; () if there are none.
        path: path of the file.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    line: int = 0
    tags: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    path: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """File and line where the sentence begins, for messages."""
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


def read_conllu(path: Path, partial: bool = False) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file; word ranges (``1-2``) and empty nodes are skipped.

    Spaces within a word become ``_``, because spaces separate words everywhere else.

    Args:
        path: the file.
        partial: heads may be ``_``, unknown.

    Raises:
        InputError: the file cannot be read, a line is malformed, or the heads form no tree.
    """
    path = Path(path)
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            if rows:
                yield _sentence(path, rows, partial)
            rows = []
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 10:
                raise InputError(f"{path}:{number}: {len(columns)} columns; CoNLL-U has 10")
            if columns[0].isdecimal():
                if _number(columns[0]) != len(rows) + 1:
                    word = columns[0][:_MOST_DIGITS]
                    raise InputError(f"{path}:{number}: word {word} follows word {len(rows)}")
                if not columns[1].strip():
                    raise InputError(f"{path}:{number}: word {len(rows) + 1} has no form")
                rows.append((number, columns))
            elif not _NO_WORD.fullmatch(columns[0]):
                raise InputError(f"{path}:{number}: {columns[0]!r} is not a word number")
    if rows:
        yield _sentence(path, rows, partial)


def _sentence(path: Path, rows: Sequence[tuple[int, list[str]]], partial: bool) -> Sentence:
    heads = check_heads(path, [(number, columns[6]) for number, columns in rows], partial)
    words, tags, relations = (
        tuple(columns[place] for _, columns in rows) for place in (1, 3, 7)
    )
    words = tuple(map(without_spaces, words))
    known = [values if set(values) != {"_"} else () for values in (tags, relations)]
    return Sentence(words, tuple(heads), rows[0][0], *known, str(path))


def check_heads(
    path: Path, rows: Sequence[tuple[int, str]], partial: bool = False
) -> list[int]:  # fmt: skip
    """Convert heads to numbers, and check that they form a tree, or the parts of one.

    Args:
        path: the file, for messages.
        rows: line number and head of every word.
        partial: heads may be ``_``, unknown.

    Raises:
        InputError: a head is not a word of the sentence, or the heads form a cycle; with the line.
    """
    heads = []
    for place, (number, head) in enumerate(rows, 1):
        found = UNKNOWN_HEAD if partial and head == "_" else _number(head)
        if found is None or found > len(rows) or found == place:
            raise InputError(f"{path}:{number}: {head[:99]!r} is not a valid head of word {place}")
        heads.append(found)
    reached_from = [0] * (len(rows) + 1)  # first word whose path to the root has this one
    for place in range(1, len(rows) + 1):
        above = place
        while above > 0 and not reached_from[above]:
            reached_from[above] = place
            above = heads[above - 1]
        if above > 0 and reached_from[above] == place:
            raise InputError(f"{path}:{rows[0][0]}: the heads of this sentence form a cycle")
    return heads


def _number(text: str) -> int | None:
    """The number in a text; None if the text is no number or has too many digits."""
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else None


def to_conllu(
    words: Sequence[str], heads: Sequence[int], comments: Sequence[str] = (),
    tags: Sequence[str] = (), relations: Sequence[str] = (), notes: Sequence[str] = (),
) -> str:  # fmt: skip
    """Write a sentence as CoNLL-U lines, with the empty line after it.

    Args:
        words: forms.
        heads: 1-based, 0 for the root.
        comments: first lines, without ``#``.
        tags: parts of speech; ``_`` by default.
        relations: relations to the heads; ``dep`` by default, ``root`` for the root.
        notes: the last column, MISC, such as ``Prob=0.93``; ``_`` by default.

    Raises:
        InputError: a comment has a line break.
    """
    for comment in comments:
        if "\n" in comment or "\r" in comment:
            raise InputError(f"comment {comment[:99]!r} has a line break; give each line by itself")
    lines = [f"# {comment}" for comment in comments]
    tags = tags or ["_"] * len(words)
    relations = relations or ["dep" if head else "root" for head in heads]
    notes = notes or ["_"] * len(words)
    rows = zip(words, tags, heads, relations, notes, strict=True)
    for place, (word, tag, head, relation, note) in enumerate(rows, 1):
        lines.append(f"{place}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{note}")
    return "\n".join([*lines, "", ""])
