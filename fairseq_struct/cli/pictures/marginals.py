"""Pictures of the probabilities of dependency arcs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fairseq_struct.errors import InputError


def explain(_args: argparse.Namespace) -> str:
    """What rows, columns and shades mean."""
    from fairseq_struct.pages.dependencies.packed_matrix import LEGEND

    return LEGEND


def column(name: str, tool, sentences: Sequence[str], gold: Sequence = ()) -> list[list[tuple]]:
    """A caption and a picture of each sentence.

    Raises:
        InputError: the model has no probabilities of dependency arcs.
    """
    from fairseq_struct.inference.results.of_tools import parse_of
    from fairseq_struct.pages.dependencies.packed_matrix import packed_matrix

    pictures = []
    for parse in map(parse_of, tool.trees(sentences)):
        marginals = getattr(parse, "marginals", None)
        if marginals is None:
            raise InputError(f"{name}: has no probabilities of dependency arcs")
        pictures.append([(name, packed_matrix(parse.words, marginals.tolist()))])
    return pictures


def of_treebank(gold: Sequence) -> list[list[tuple]]:
    """Dependency trees of a file, as matrices of zeros and ones."""
    from fairseq_struct.pages.dependencies.packed_matrix import packed_matrix

    found = []
    for tree in gold:
        arcs = [[0.0] * len(tree.words) for _ in tree.words]
        for modifier, head in enumerate(tree.heads):
            arcs[head - 1 if head else modifier][modifier] = 1.0
        found.append([("gold", packed_matrix(tree.words, arcs))])
    return found
