"""What a dependency tree loses by its root and by the directions of its arcs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import index

from fairseq_struct.metrics.attachment import AttachmentScores


def direction_scores(
    gold: Iterable[Sequence[int]], predicted: Iterable[Sequence[int]]
) -> dict[str, float]:
    """How far the undirected arcs of trees are hung up right, in percent.

    A tree of n words has n orientations, one for each root. An undirected mask (Shen's thesis, eq.
    4.2.8) does not tell them apart, so a model that finds the arcs may still have a low UAS.

    Args:
        gold, predicted: heads of the trees, 1-based and 0 for the root; of gold trees with several
            roots the first one counts, of predicted ones any. Lists, tensors or arrays.

    Returns:
        ``direction``: of the arcs between words that are found, those whose head is right.
        ``root``: sentences whose root is right. ``uas_rooted``: UAS of the predicted trees after
        they are hung up at the gold roots.

    Raises:
        ValueError: the numbers of trees or words differ, or a gold tree has no root.
    """
    joined = right = roots = sentences = 0
    hung = AttachmentScores()
    for trees in zip(gold, predicted, strict=True):
        theirs, ours = ([index(head) for head in heads] for heads in trees)
        heads = {frozenset((m, h)): h for m, h in enumerate(ours, 1) if h}
        for m, h in enumerate(theirs, 1):
            found = heads.get(frozenset((m, h)))
            joined += found is not None
            right += found == h
        if 0 not in theirs:
            raise ValueError(f"no word of gold tree {sentences} is a root (head 0)")
        root = theirs.index(0) + 1
        hung.add(hung_up(ours, root), theirs)
        sentences += 1
        roots += ours[root - 1] == 0
    return {
        "direction": 100 * right / max(joined, 1),
        "root": 100 * roots / max(sentences, 1),
        "uas_rooted": hung.uas,
    }


def hung_up(heads: Sequence[int], root: int) -> list[int]:
    """The same tree with another root; words that it does not reach keep their heads.

    Args:
        heads: 1-based, 0 for the root.
        root: the word that becomes the root, from 1.

    Returns:
        The heads, one for each word.
    """
    neighbours = defaultdict(list)
    for m, h in enumerate(heads, 1):
        if h:
            neighbours[m].append(h)
            neighbours[h].append(m)
    turned, open_words = {root: 0}, [root]
    while open_words:
        word = open_words.pop()
        for other in neighbours[word]:
            if other not in turned:
                turned[other] = word
                open_words.append(other)
    return [turned.get(m, h) for m, h in enumerate(heads, 1)]
