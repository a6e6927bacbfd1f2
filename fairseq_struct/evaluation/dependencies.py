"""Evaluation of dependency trees against gold trees, from files or from a parser in training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS, similar_lengths
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.dependency_treebank import (
    heads_of_kept,
    kept_words,
    read_treebank,
)
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.predictions import TRIVIAL_HEADS, file_of
from fairseq_struct.metrics.attachment import AttachmentScores, scores_of_readings
from fairseq_struct.structure.dependency import left_chain, random_trees, readings, right_chain

POLICY = (
    "UAS: share of words whose head is right, the root's modifiers included; UUAS: share of pairs "
    "of words joined by a gold arc that are joined in either direction; modifier list: share of "
    "words with modifiers that have exactly the right ones (count: as many, the root's arc to the "
    "word included); exact match: share of sentences without a wrong head; a share of nothing "
    "(UUAS of sentences of one word) is left out; punctuation {}"
)


def compare_dependencies(
    gold: Path, predicted: Path | str, keep_punctuation: bool = False,
    longest: int | None = None, seed: int = 1,
) -> tuple[AttachmentScores, int]:  # fmt: skip
    """Scores of predicted trees, and the number of sentences.

    The tags of the gold trees determine the punctuation. In both trees, dependents of punctuation
    move to its nearest kept ancestor. Predicted trees may also lack punctuation.

    Args:
        gold: file of gold trees, or folder of .dp files.
        predicted: trees of the same sentences in the same order, or one of ``TRIVIAL_HEADS``.
        keep_punctuation: count all tokens.
        longest: maximum number of counted words of a sentence; longer sentences are left out.
        seed: seed of random trees.

    Raises:
        InputError: a file is missing or malformed, the files hold different sentences, or no
            sentence is left.
    """
    theirs = read_treebank(gold)
    path = file_of(predicted, TRIVIAL_HEADS)
    if path is None:
        make = trivial_heads(str(predicted), seed)
    else:
        ours = read_treebank(path)
        if len(ours) != len(theirs) and not keep_punctuation:
            theirs = [tree for tree in theirs if any(kept_words(tree))]  # drop wordless ones
        if len(ours) != len(theirs):
            raise InputError(f"{path}: {len(ours)} trees, but {gold} has {len(theirs)}")
    scores, count = AttachmentScores(), 0
    for number, tree in enumerate(theirs):
        kept = [True] * len(tree.words) if keep_punctuation else kept_words(tree)
        heads = heads_of_kept(tree.heads, kept)
        if not heads or (longest is not None and len(heads) > longest):
            continue
        own = make(len(heads)) if path is None else _heads_of(ours[number], tree, kept)
        if own is None:
            raise InputError(
                f"{path}:{ours[number].line}: the words differ from {gold}:{tree.line}; "
                "both files need the same sentences"
            )
        scores.add(own, heads)
        count += 1
    if not count:
        raise InputError(f"{gold}: no sentence is left to evaluate")
    return scores, count


def score_parser(
    arc_scores: Callable[[Tensor, Tensor], Tensor],
    gold: Sequence[tuple[Tensor, Sequence[int]]],
    padding: int,
    device: torch.device | str = "cpu",
    batch_words: int = BATCH_WORDS,
) -> dict[str, float]:
    """Evaluate a parser's arc scores: :func:`.scores_of_readings`, 0 to 100.

    Args:
        arc_scores: maps tokens (batch, n) and lengths (batch,) to arc scores (batch, n, n).
        gold: words as integers, and their heads, 1-based, 0 for the root.
        padding: index of the padding symbol.
        device: device of the tokens.
        batch_words: maximum number of words of a batch, padding included.

    Raises:
        ValueError: a sentence has more or fewer heads than words.
    """
    for place, (words, own) in enumerate(gold):
        if len(words) != len(own):
            raise ValueError(f"sentence {place} has {len(words)} words, but {len(own)} heads")
    heads, found = [], []
    for batch in similar_lengths([len(words) for words, _ in gold], batch_words):
        rows = [gold[place] for place in batch]
        lengths = torch.tensor([len(words) for words, _ in rows])
        tokens = torch.nn.utils.rnn.pad_sequence([words for words, _ in rows], True, padding)
        with torch.no_grad():
            scores = arc_scores(tokens.to(device), lengths.to(device))
        every = {name: own.tolist() for name, own in readings(scores, lengths).items()}
        heads += [own for _, own in rows]
        found += [{name: own[row] for name, own in every.items()} for row in range(len(rows))]
    return scores_of_readings(heads, found)


def trivial_heads(name: str, seed: int = 1) -> Callable[[int], list[int]]:
    """Return the function that makes trivial heads, given the number of words.

    Args:
        name: one of ``TRIVIAL_HEADS``.
        seed: seed of random trees; each call makes a different tree.
    """
    if name == "random":
        generator = torch.Generator().manual_seed(seed)
        return lambda n: random_trees(torch.tensor([n]), generator)[0].tolist()
    return {"right_chain": right_chain, "left_chain": left_chain}[name]


def _heads_of(own: Sentence, tree: Sentence, kept: Sequence[bool]) -> list[int] | None:
    """Predicted heads of the gold tree's kept words; None if the sentences differ."""
    theirs, ours = ([word.lower() for word in one.words] for one in (tree, own))
    if ours == theirs:
        return heads_of_kept(own.heads, kept)
    left = [word for word, stays in zip(theirs, kept, strict=True) if stays]
    # The text of language models has N for numbers.
    same = len(ours) == len(left) and all(
        word in (other, "n") for word, other in zip(ours, left, strict=True)
    )
    return list(own.heads) if same else None
