"""Pictures of the probabilities of dependency arcs."""

from __future__ import annotations

from collections.abc import Sequence


def explain() -> str:
    """What rows, columns and shades mean."""
    from fairseq_struct.pages.dependencies.packed_matrix import LEGEND

    return LEGEND


def column(name: str, tool, sentences: Sequence[str], gold: Sequence = ()) -> list[list[tuple]]:
    """A caption and a picture of each sentence."""
    from fairseq_struct.pages.dependencies.packed_matrix import packed_matrix

    return [
        [(name, packed_matrix(one.words, one.marginals.tolist()))]
        for one in tool.marginals(sentences)
    ]


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
