"""Trees with a label on every constituent, one per line: ``(3 (2 The) (4 (3 good) (2 film)))``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# An opening bracket with its label, a closing bracket, or a word. SST has words with a no-break
# space, which only re.ASCII leaves in them.
_TOKEN = re.compile(r"\([^\s()]+(?= )|[()]|[^\s()]+", re.ASCII)


class Constituent(NamedTuple):
    """A labelled span of words, counted from 0, ``end`` excluded."""

    start: int
    end: int
    label: str


def read_line(line: str) -> tuple[list[str], tuple[Constituent, ...]]:
    """Read the words of a tree and its constituents, outer ones first, single words included.

    A word with a no-break space, such as SST's ``(2 8 1\\/2)``, is read as words of the same label,
    ``(2 (2 8) (2 1\\/2))``, because spaces separate words everywhere else.

    Raises:
        ValueError: the line is not a tree with labels.
    """
    words: list[str] = []
    found: list[Constituent] = []
    inside: list[int] = []  # places in ``found`` of the open brackets
    before = ""
    tokens = _TOKEN.findall(line)
    for token in tokens:
        opens = token.startswith("(") and token != "("
        after_bracket = before == ")" or before.startswith("(")
        if opens and (after_bracket if inside else not before):
            inside.append(len(found))
            found.append(Constituent(len(words), len(words), token[1:]))
        elif token == ")" and inside and found[inside[-1]].start < len(words):
            place = inside.pop()
            found[place] = found[place]._replace(end=len(words))
        elif token[0] not in "()" and inside and before != ")":
            parts, label = token.split(), found[inside[-1]].label
            end = len(words) + len(parts)
            for start in range(len(words), end - 1):
                found += Constituent(start, start + 1, label), Constituent(start + 1, end, label)
            words += parts
        else:
            raise ValueError(f"unexpected {token!r} in a labelled tree")
        before = token
    if inside or not tokens:
        raise ValueError("the tree is not closed" if inside else "there is no tree")
    return words, tuple(found)


def line_of(words: Sequence[str], constituents: Sequence[Constituent]) -> str:
    """Write a tree in one line.

    Args:
        words: the words of the sentence.
        constituents: its constituents, outer ones first.
    """
    parts = []
    for place, word in enumerate(words):
        begun = "".join(f"({label} " for start, _, label in constituents if start == place)
        ended = ")" * sum(end == place + 1 for _, end, _ in constituents)
        parts.append(f"{begun}{word}{ended}")
    return " ".join(parts)
