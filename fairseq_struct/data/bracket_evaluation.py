"""Files of bracketed trees against each other, and against trivial trees."""

from __future__ import annotations

from pathlib import Path

import torch

from fairseq_struct.data.bracket_trees import read_trees, spans_of
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.structure import constituency

TRIVIAL = ("right_branching", "left_branching", "balanced", "random")


def evaluate(
    gold: Path, predicted: Path | str, longest: int | None = None, seed: int = 1
) -> tuple[BracketingScores, float]:
    """Scores of predicted trees, and their mean depth (:func:`.constituency.mean_depth`).

    Args:
        gold: file of gold trees.
        predicted: file of trees of the same sentences in the same order, or one of ``TRIVIAL``.
        longest: only sentences of at most so many words.
        seed: of random trees.

    Raises:
        InputError: a file is missing or malformed, the files hold other sentences, or no sentence
            is left.
    """
    theirs = read_trees(gold)
    ours = None if str(predicted) in TRIVIAL else read_trees(Path(predicted))
    if ours is not None and len(ours) != len(theirs):
        raise InputError(
            f"{predicted}: {len(ours)} trees, but {gold} has {len(theirs)} of them"
        )
    generator = torch.Generator().manual_seed(seed)
    scores, depths = BracketingScores(), []
    for number, (line, tree) in enumerate(theirs):
        words = tree.leaves()
        if longest is not None and len(words) > longest:
            continue
        if ours is not None:
            at, other = ours[number]
            if [_form(word) for word in other.leaves()] != [_form(word) for word in words]:
                raise InputError(
                    f"{predicted}:{at}: other words than in {gold}:{line}; both files need the "
                    "same sentences"
                )
            spans = [span for _, span in spans_of(other)]
        elif str(predicted) == "random":
            spans = constituency.random_tree(len(words), generator)
        else:
            spans = getattr(constituency, str(predicted))(len(words))
        labelled = spans_of(tree)
        scores.add(spans, [span for _, span in labelled], len(words), labelled)
        inner = {span for span in spans if span[1] - span[0] > 1}
        depths.append(constituency.mean_depth(sorted(inner), len(words)))
    if not depths:
        raise InputError(f"{gold}: no sentence is left to evaluate")
    return scores, sum(depths) / len(depths)


def _form(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
