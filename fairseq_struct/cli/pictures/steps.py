"""Pictures of how sentences are composed, step by step."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_struct.errors import InputError

if TYPE_CHECKING:
    from nltk import Tree


def explain(_args: argparse.Namespace) -> str:
    """What cells and colours mean."""
    from fairseq_struct.pages.composition.step_grid import LEGEND

    return LEGEND


def read_gold(path: Path) -> list[tuple[str, Tree]]:
    """Bracketed gold trees of a file, each with its place.

    Raises:
        InputError: the file is missing or malformed, or has no tree.
    """
    from fairseq_struct.data.readers.bracket_trees import read_trees

    found = [(f"{path}:{line}", tree) for line, tree in read_trees(path)]
    if not found:
        raise InputError(f"{path}: contains no tree")
    return found


def words_of_tree(gold: tuple[str, Tree]) -> list[str]:
    """The words of a gold tree, without null elements.

    Raises:
        InputError: a word without a part of speech, or a tree without words.
    """
    from fairseq_struct.data.readers.bracket_trees import leaves_of
    from fairseq_struct.data.readers.transformation_lists import without_null_elements

    place, tree = gold
    return leaves_of(without_null_elements(tree, place))


def column(
    name: str, tool, sentences: Sequence[str], gold: Sequence[tuple[str, Tree]] = ()
) -> list[list[tuple]]:
    """A caption and a picture of each sentence, along gold steps where there are gold trees."""
    from fairseq_struct.pages.composition.step_grid import DrawnStep, step_grid

    found = []
    for one in tool.steps_along(gold) if gold else tool.steps(sentences):
        if one is None:  # nothing but punctuation
            found.append([])
            continue
        count = len(one.spans)
        names = one.categories or [""] * count
        shares = [()] * count if one.shares is None else one.shares.tolist()
        steps = list(map(DrawnStep, one.sequences(), one.spans, names, shares))
        found.append([(name, step_grid(one.words, steps, one.gold))])
    return found
