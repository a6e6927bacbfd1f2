"""Counts of a Dependency Model with Valence: expected ones, those of given trees, and guesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index

import torch
from torch import Tensor

from fairseq_struct.modules.dmv.model import DMV, batches, scores_of, told_by_place
from fairseq_struct.structure.checks import above_zero, whole_number
from fairseq_struct.structure.dependency import arcs_of, is_tree
from fairseq_struct.structure.dependency.valence.counts import ValenceCounts, counts_of


@torch.inference_mode(False)
@torch.enable_grad()
def expected_counts(model: DMV, sentences: Sequence[Sequence[int]]) -> tuple[float, DMV]:
    """The E step: log likelihood of the sentences in nats, and expected counts.

    Args:
        model: the parameters.
        sentences: tags of each sentence.

    Returns:
        The log likelihood, and the counts in place of log probabilities: the gradient of the log
        likelihood.

    Raises:
        ValueError: as for :meth:`.DMV.parse`.
    """
    leaves = DMV(*(table.detach().clone().requires_grad_() for table in model))
    total = 0.0
    for places, tags in batches(sentences, model.tags):
        with told_by_place(places):
            value = leaves.trees(tags).log_partition.sum()
        value.backward()
        total += value.item()
    return total, _gradients(leaves)


def counts_of_trees(
    sentences: Sequence[Sequence[int]], heads: Sequence[Sequence[int]], tags: int,
    attach_valence: bool = False,
) -> DMV:  # fmt: skip
    """Counts of given trees, for an estimate with supervision.

    Args:
        sentences: tags of each sentence.
        heads: heads of each sentence, 1-based, 0 for the root. Trees need not be projective.
        tags: number of tags.
        attach_valence: count attachments by valence, too.

    Raises:
        TypeError: as for :meth:`.DMV.parse`, or a head that is no integer.
        ValueError: as for :meth:`.DMV.parse`; or heads of another length than their sentence,
            out of range, or in a cycle.
    """
    if len(sentences) != len(heads):
        raise ValueError(f"{len(sentences)} sentences, but heads of {len(heads)}")
    heads = [list(map(index, own)) for own in heads]
    for place, (sentence, own) in enumerate(zip(sentences, heads, strict=True)):
        n = len(sentence)
        if n != len(own):
            raise ValueError(f"sentence {place} has {n} tags, but {len(own)} heads")
        if any(not 0 <= head <= n for head in own):
            raise ValueError(f"sentence {place} has a head out of range: heads are 0 to {n}")

    def of(places: list[int], given: Tensor) -> ValenceCounts:
        own = torch.tensor([heads[place] for place in places])
        lengths = torch.full((len(own),), own.size(1))
        for place, tree in zip(places, is_tree(own, lengths).tolist(), strict=True):
            if not tree:
                raise ValueError(f"the heads of sentence {place} form no tree")
        return counts_of(arcs_of(own, lengths, torch.float64))

    return _by_tags(sentences, tags, attach_valence, of)


def harmonic_counts(
    sentences: Sequence[Sequence[int]], tags: int, constant: float = 1.0, over: str = "heads",
    attach_valence: bool = False,
) -> DMV:  # fmt: skip
    """The first guess of Klein and Manning (2004): close words are attached more often.

    All words of a sentence are equally likely to be its root. Otherwise the chance of an arc is in
    inverse proportion to a constant plus the distance of its words. A word takes each modifier
    independently of the others, which gives the counts of its decisions to stop.

    Args:
        sentences: tags of each sentence.
        tags: number of tags.
        constant: what is added to the distance in words.
        over: ``heads``: the chances of all arcs to a word sum to that of not being the root;
            ``modifiers``: those of all arcs from a word do, so that all words have equally many
            modifiers.
        attach_valence: count attachments by valence, too.

    Raises:
        TypeError, ValueError: the constant is not a number above 0, or ``over`` is another word; as
            for :meth:`.DMV.parse`.
    """
    above_zero("constant", constant)
    if over not in ("heads", "modifiers"):
        raise ValueError(f"over must be 'heads' or 'modifiers', not {over!r}")

    def of(places: list[int], given: Tensor) -> ValenceCounts:
        return _harmonic(given.size(1), constant, over)

    return _by_tags(sentences, tags, attach_valence, of)


def no_counts(tags: int, attach_valence: bool = False) -> DMV:
    """Counts of 0, from which all probabilities are estimated to be equal.

    Args:
        tags: number of tags, at least 1.
        attach_valence: whether attachments depend on valence.
    """
    whole_number("tags", tags, 1)
    shapes = (tags, 2, 1 + attach_valence, tags), (tags, 2, 2, 2), (tags,)
    return DMV(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))


def _harmonic(n: int, constant: float, over: str) -> ValenceCounts:
    """Counts of a sentence of n words, by their places alone, with a batch dimension of 1."""
    words = torch.arange(n, dtype=torch.float64)
    shares = 1 / ((words[:, None] - words).abs() + constant)
    shares.fill_diagonal_(0.0)
    if n > 1:  # n - 1 words are modifiers of other words
        shares *= (n - 1) / n / shares.sum(0 if over == "heads" else 1, keepdim=True)
    stop = torch.zeros(n, 2, 2, 2, dtype=torch.float64)
    nearest = torch.zeros_like(shares)
    for direction, own in enumerate((shares.tril(-1).flip(1), shares.triu(1))):
        # From left to right, modifiers are now in the order in which their head takes them.
        none_yet = (1 - own).cumprod(1)
        first = own * torch.cat([torch.ones(n, 1, dtype=torch.float64), none_yet[:, :-1]], 1)
        nearest += first if direction else first.flip(1)
        some = first.sum(1)
        stop[:, direction] = torch.stack([1 - some, some, some, own.sum(1) - some], 1).view(n, 2, 2)
    attach = torch.stack([nearest, shares - nearest], 2)
    return ValenceCounts(attach[None], stop[None], torch.full((1, n), 1 / n, dtype=torch.float64))


@torch.inference_mode(False)
@torch.enable_grad()
def _by_tags(
    sentences: Sequence[Sequence[int]], tags: int, attach_valence: bool,
    counts_by_place: Callable[[list[int], Tensor], ValenceCounts],
) -> DMV:  # fmt: skip
    """Sum of counts over the words with the same tags."""
    leaves = DMV(*(table.requires_grad_() for table in no_counts(tags, attach_valence)))
    for places, given in batches(sentences, tags):
        # A linear function of the tables whose gradient is the counts.
        pairs = zip(counts_by_place(places, given), scores_of(leaves, given), strict=True)
        sum((counts * scores).sum() for counts, scores in pairs).backward()
    return _gradients(leaves)


def _gradients(leaves: DMV) -> DMV:
    """Gradients of the tables; 0 for those that no sentence used."""
    return DMV(*(torch.zeros_like(t) if t.grad is None else t.grad for t in leaves))
