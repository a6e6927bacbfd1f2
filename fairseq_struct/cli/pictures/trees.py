"""Pictures of trees, of constituents and of dependencies."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.data.readers.formulas.formula_trees import constituents, leaves
from fairseq_struct.errors import InputError


def column(name: str, tool, sentences: Sequence[str], gold: Sequence = ()) -> list[list[tuple]]:
    """A caption and a picture of each sentence.

    Args:
        name, tool: of a checkpoint.
        sentences: words separated by spaces.
        gold: dependency trees of the same sentences; arcs that differ from them are red.

    Raises:
        InputError: the model infers no trees, or constituents where there are gold dependencies.
    """
    if tool.tree_kind is None:
        raise InputError(f"{name}: infers no trees")
    if tool.tree_kind == "constituents":
        if gold:
            raise InputError(f"{name}: infers constituents; --gold is for dependency trees")
        return [[(name, of_constituents(one))] for one in tool.trees(sentences)]
    from fairseq_struct.pages.dependencies.dependency_picture import tree_picture

    right = [tree.heads for tree in gold] or [None] * len(sentences)
    return [
        [(name, tree_picture(one.sentences[0], one.heads[0], heads))]
        for one, heads in zip(tool.trees(sentences), right, strict=True)
    ]


def of_formulas(sentences: Sequence[str], kind: str) -> list[list[tuple]]:
    """The formulas' own trees.

    Raises:
        InputError: a sentence is no formula of this kind; with its line.
    """
    found = []
    for number, sentence in enumerate(sentences, 1):
        words = sentence.split()
        try:
            found.append([("gold", of_spans(words, constituents(words, kind)))])
        except ValueError as error:
            raise InputError(f"line {number}: no tree of --gold-trees {kind}: {error}") from None
    return found


def of_treebank(gold: Sequence) -> list[list[tuple]]:
    """Dependency trees of a file."""
    from fairseq_struct.pages.dependencies.dependency_picture import tree_picture

    return [[("gold", tree_picture(tree.words, tree.heads, tree.heads))] for tree in gold]


def of_constituents(tree):
    """Constituents that a model found, with labels or tags if it has any.

    Args:
        tree: a ``Constituents``.
    """
    if not tree.labelled:
        return of_spans(tree.words, tree.spans)
    from fairseq_struct.pages.composition.labelled_tree import labelled_tree_picture

    return labelled_tree_picture(tree.tree())


def of_spans(words: Sequence[str], spans: Sequence[tuple[int, int]]):
    """Constituents over words, without round brackets."""
    from fairseq_struct.pages.constituents.constituent_picture import bracket_picture
    from fairseq_struct.structure.spans import without_words

    kept = leaves(words)
    return bracket_picture([words[place] for place in kept], without_words(spans, kept))
