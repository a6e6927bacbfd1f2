"""Evaluation of predicted constituency trees against gold trees."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import (
    NO_LABEL,
    has_label,
    leaves_of,
    read_trees,
    spans_of,
)
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.predictions import TRIVIAL_BRACKETS, file_of
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.metrics.labelled_bracketing import LabelledScores
from fairseq_struct.structure import spans as constituency
from fairseq_struct.structure.spans import Span, mean_depth

logger = logging.getLogger(__name__)


def compare_brackets(
    gold: Path, predicted: Path | str, longest: int | None = None, seed: int = 1,
    unlabelled: Sequence[str] = (), labelled: LabelledScores | None = None,
) -> tuple[BracketingScores, float]:  # fmt: skip
    """Scores of predicted trees, and their mean depth (:func:`.spans.mean_depth`).

    Args:
        gold: file of gold trees.
        predicted: file of trees of the same sentences in the same order, or one of
            ``TRIVIAL_BRACKETS``.
        longest: maximum number of words of a sentence; longer sentences are left out.
        seed: seed of random trees.
        unlabelled: files with unlabelled brackets: ``gold``, ``predicted`` or both.
        labelled: labelled scores to update, if both files have labels.

    Raises:
        InputError: a file is missing or malformed, the files hold different sentences, or no
            sentence is left.
    """
    labels = [False if name in unlabelled else None for name in ("gold", "predicted")]
    theirs = read_trees(gold, labels[0])
    for line, tree in theirs:
        if has_label(tree, "-NONE-"):
            raise InputError(
                f"{gold}:{line}: an empty element, which is not a word; "
                "fairseq-struct prepare penn_treebank trees removes them, and punctuation"
            )
    path = file_of(predicted, TRIVIAL_BRACKETS)
    if path is None:
        make = trivial_spans(str(predicted), seed)
    else:
        ours = read_trees(path, labels[1])
        if len(ours) != len(theirs):
            raise InputError(f"{path}: {len(ours)} trees, but {gold} has {len(theirs)}")
        if not (_have_labels(ours) and _have_labels(theirs)):
            labelled = None
            if _have_labels(ours) and _have_labels(theirs, []):
                logger.warning(
                    f"note: the gold trees have the label {NO_LABEL} alone, as parse writes it, "
                    "and the others have more: the gold trees come first"
                )
    scores, depths = BracketingScores(), []
    for number, (line, tree) in enumerate(theirs):
        words = leaves_of(tree)
        if longest is not None and len(words) > longest:
            continue
        if path is None:
            spans = make(len(words))
        else:
            at, other = ours[number]
            if not _same_words(other, words):
                raise InputError(
                    f"{path}:{at}: the words differ from {gold}:{line}; both files need the "
                    "same sentences (and --unlabelled, if brackets have no labels)"
                )
            spans = [span for _, span in spans_of(other)]
            if labelled is not None:
                labelled.add(spans_of(other), spans_of(tree), len(words))
        depths.append(add_tree(scores, spans, tree, len(words)))
    if not depths:
        raise InputError(f"{gold}: no sentence is left to evaluate")
    return scores, sum(depths) / len(depths)


def add_tree(scores: BracketingScores, spans: Sequence[Span], gold: Tree, length: int) -> float:
    """Add the predicted spans of a sentence to the scores, and return their mean depth.

    Args:
        scores: scores to update.
        spans: spans of the predicted tree.
        gold: gold tree.
        length: number of words of the sentence.
    """
    labelled = spans_of(gold)
    scores.add(spans, [span for _, span in labelled], length, labelled)
    inner = {span for span in spans if span[1] - span[0] > 1}
    return mean_depth(sorted(inner), length)


def trivial_spans(name: str, seed: int = 1) -> Callable[[int], list[Span]]:
    """Return the function that makes trivial trees, given the number of words.

    Args:
        name: one of ``TRIVIAL_BRACKETS``.
        seed: seed of random trees; each call makes a different tree.
    """
    if name == "random":
        generator = torch.Generator().manual_seed(seed)
        return lambda n: constituency.random_tree(n, generator)
    return getattr(constituency, name)


def _have_labels(trees: Sequence[tuple[int, Tree]], but: Sequence[str] = (NO_LABEL,)) -> bool:
    """Whether any constituent has a label, but for placeholders."""
    every = (label for _, tree in trees for label, _ in spans_of(tree))
    return any(label and label not in but for label in every)


def _same_words(tree: Tree, words: Sequence[str]) -> bool:
    return list(map(_form, leaves_of(tree))) == list(map(_form, words))


def _form(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
