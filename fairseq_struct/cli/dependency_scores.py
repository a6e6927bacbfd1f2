"""What ``fairseq-struct evaluate`` does with dependency trees."""

import os
from collections.abc import Sequence
from pathlib import Path

from fairseq_struct.errors import InputError, suggestion
from fairseq_struct.text_files import reading

TRIVIAL = ("right_chain", "left_chain", "random")
POLICY = (
    "UAS: share of words whose head is right, the root's modifiers included; UUAS: share of pairs "
    "of words joined by a gold arc that are joined in either direction; punctuation {}"
)


def is_treebank(path: Path) -> bool:
    """Whether this is a folder, or a file of dependency trees, by its ending or its first line."""
    if path.is_dir() or path.suffix in (".conllu", ".dp"):
        return True
    if not path.is_file():
        return False
    with reading(path), path.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip() and line[0] != "#"), "")
    return first.count("\t") == 9


def existing(predicted: Path | str, trivial: Sequence[str]) -> Path:
    """The path of predicted trees, which are none of the ``trivial`` ones.

    Raises:
        InputError: there is nothing there; with the name of trivial trees that may be meant.
    """
    if not os.path.exists(predicted):
        raise InputError(f"{predicted}: no such file{suggestion(predicted, trivial)}")
    return Path(predicted)


def attachment(
    gold: Path, predicted: Path | str, keep_punctuation: bool = False,
    longest: int | None = None, seed: int = 1,
):  # fmt: skip
    """``AttachmentScores`` of predicted trees, and the number of sentences.

    Punctuation is told by the gold trees' tags; what hung from it hangs from its nearest ancestor
    that stays, in both trees. Predicted trees may also be of the words alone.

    Args:
        gold: file of gold trees, or folder of .dp files.
        predicted: trees of the same sentences in the same order, or one of ``TRIVIAL``.
        keep_punctuation: count all tokens.
        longest: only sentences of at most so many words (that count).
        seed: of random trees.

    Raises:
        InputError: a file is missing or malformed, the files hold other sentences, or no sentence
            is left.
    """
    import torch

    from fairseq_struct.data.readers.dependency_treebank import (
        heads_of_kept,
        kept_words,
        read_treebank,
    )
    from fairseq_struct.metrics.attachment import AttachmentScores
    from fairseq_struct.structure.dependency import chains

    theirs = read_treebank(gold)
    ours = None if str(predicted) in TRIVIAL else read_treebank(existing(predicted, TRIVIAL))
    if ours is not None and len(ours) != len(theirs) and not keep_punctuation:
        theirs = [tree for tree in theirs if any(kept_words(tree))]  # of words alone, too
    if ours is not None and len(ours) != len(theirs):
        raise InputError(f"{predicted}: {len(ours)} trees, but {gold} has {len(theirs)} of them")
    generator = torch.Generator().manual_seed(seed)
    scores, count = AttachmentScores(), 0
    for number, tree in enumerate(theirs):
        kept = [True] * len(tree.words) if keep_punctuation else kept_words(tree)
        heads = heads_of_kept(tree.heads, kept)
        if not heads or (longest is not None and len(heads) > longest):
            continue
        if ours is not None:
            own = _heads_of(ours[number], tree, kept)
            if own is None:
                raise InputError(
                    f"{predicted}: tree {number + 1}, line {ours[number].line}, has other words "
                    f"than that of {gold}, line {tree.line}"
                )
        elif str(predicted) == "random":
            own = chains.random_trees(torch.tensor([len(heads)]), generator)[0].tolist()
        else:
            own = getattr(chains, str(predicted))(len(heads))
        scores.add(own, heads)
        count += 1
    if not count:
        raise InputError(f"{gold}: no sentence is left to evaluate")
    return scores, count


def _heads_of(own, tree, kept) -> list[int] | None:
    """Predicted heads of the gold tree's kept words; None if the sentences differ."""
    from fairseq_struct.data.readers.dependency_treebank import heads_of_kept

    theirs, ours = ([word.lower() for word in one.words] for one in (tree, own))
    if ours == theirs:
        return heads_of_kept(own.heads, kept)
    left = [word for word, stays in zip(theirs, kept, strict=True) if stays]
    # Language models have N for numbers.
    same = len(ours) == len(left) and all(
        word in (other, "n") for word, other in zip(ours, left, strict=True)
    )
    return list(own.heads) if same else None
