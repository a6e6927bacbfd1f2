"""The kinds of pictures of ``fairseq-struct draw``, by the value of ``--what``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fairseq_struct.cli.pictures import attention, images, marginals, memory, steps, trees, units


class Gold(NamedTuple):
    """Gold trees that a kind of picture takes.

    Args:
        read: a function from a path to a list of them.
        words: a function from one to its words.
        column: a function from all of them to their own pictures, captions and pictures for each;
            None if they are not drawn by themselves.
    """

    read: Callable[[Path], list]
    words: Callable[[Any], list[str]]
    column: Callable | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Args:
        help: what it shows.
        title: of the page.
        ability: of the tool that is needed.
        method: of the tool that gives what is drawn; a tool without it has no such pictures.
        column: of sentences: a function from a checkpoint's name, its tool, the sentences and their
            gold trees to a list of captions and pictures for each sentence. Of other kinds, None.
        row: of images: a function from a tool, the most passes, and images or None, to a picture.
        of_treebank: of all gold trees together: a function from a tool and the trees to a caption
            and a picture.
        gold: the gold trees that it takes; None if it takes none.
        explain: a function from the command line to the text below the title.
        stacked: whether the pictures of a sentence stand one below the other.
    """

    help: str
    title: str
    ability: str
    method: str
    column: Callable | None = None
    row: Callable | None = None
    of_treebank: Callable | None = None
    gold: Gold | None = None
    explain: Callable[[argparse.Namespace], str] = lambda args: ""
    stacked: bool = False


def _read_treebank(path: Path) -> list:
    from fairseq_struct.data.readers.dependency_treebank import read_treebank

    return read_treebank(path)


CONSTITUENTS = Gold(steps.read_gold, steps.words_of_tree)
DEPENDENCIES = Gold(_read_treebank, lambda tree: tree.words, marginals.of_treebank)
TREES = Gold(trees.read_gold, lambda tree: tree.words, trees.of_treebank)

# If --what is not given, the first kind that all models have; kinds of images must be named.
KINDS = {
    "memory": Kind(
        "slots by steps, below the induced tree (figure 4 of Shen's thesis)",
        "Slots by steps: blue, in use (π→); red, the head of the stack (p)", "draw", "memories",
        memory.column, explain=memory.explain,
    ),
    "attention": Kind(
        "its weights in each pass of an undirected network (figure 5.4 of Mihaylova's thesis)",
        "Attention weights", "draw", "attentions", attention.column, explain=attention.explain,
    ),
    "steps": Kind(
        "how a composer builds the trees of sentences by itself, or along gold trees (figure FC4.2 "
        "of the thesis on grammar induction with RIMs)", "Attention and span of each step", "draw",
        "steps", steps.column, gold=CONSTITUENTS, explain=steps.explain,
    ),
    "units": Kind(
        "how often each unit of a composer is active for each tag of gold trees",
        "Active units by tags", "draw", "units", of_treebank=units.of_treebank, gold=CONSTITUENTS,
        explain=units.explain,
    ),
    "trees": Kind(
        "those of all checkpoints one below the other, constituents (figure 6 of Shen's thesis) "
        "without the round brackets of formulas", "Trees", "parse", "trees", trees.column,
        gold=TREES, stacked=True,
        explain=lambda args: trees.explain(bool(args.gold), args.probabilities),
    ),
    "marginals": Kind(
        "probabilities of arcs (figure 5.7 of Mihaylova's thesis)", "Marginals of arcs", "parse",
        "trees", marginals.column, gold=DEPENDENCIES, explain=marginals.explain,
    ),
    "prototypes": Kind(
        "an image of each label, after 1, 2, … passes (figure 5.3 of Mihaylova's thesis)",
        "Prototypes by passes: images inferred from labels", "images", "prototypes",
        row=images.prototypes,
    ),
    "completions": Kind(
        "images whose lower half is hidden",
        "Images with their lower half hidden, and inferred by passes", "images", "complete",
        row=images.completions,
    ),
}  # fmt: skip
