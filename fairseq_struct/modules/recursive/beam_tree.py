"""Recursive network that searches its trees bottom-up, easiest pairs first, with a beam."""

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from fairseq_struct.modules.masks import within
from fairseq_struct.modules.recursive.beam_states import (
    Choice,
    States,
    equal_as_one,
    key_of,
    merges_of,
    nodes_after,
    put,
    ranked,
    take,
    together,
    without_next,
)
from fairseq_struct.modules.recursive.cells import RecursiveCell
from fairseq_struct.modules.workers import own_gumbel_noise
from fairseq_struct.structure.checks import refuse_fractions, sentence_lengths
from fairseq_struct.structure.precision import at_least_float32


class BeamOfTrees(NamedTuple):
    """What :class:`BeamTree` found for a batch of sentences.

    Args:
        vectors: (batch, D) of the sentences.
        roots: (batch, beam, D) roots of the trees that were kept; the best tree is the first, but
            for the noise of training.
        scores: (batch, beam) log-probability of each tree; -inf if there are fewer trees.
        merges: (batch, n - 1, 2) spans (start, end) of the best tree, a node after its children,
            preceded by rows of -1 in sentences of fewer than n words.
    """

    vectors: Tensor
    roots: Tensor
    scores: Tensor
    merges: Tensor


class BeamTree(nn.Module):
    """Beam Tree Recursive Cell, BT-Cell (Ray Chowdhury and Caragea 2023).

    A state is a sequence of nodes, at first the leaves. The node c_i over its neighbours i and
    i + 1 has the score w^T c_i, and is the next to be made with probability softmax_i(w^T c_i).
    Each of the ``beam`` states proposes the ``beam`` pairs that are the most probable; the best
    proposals of all states are the next states. When one node is left, with the roots r_b and the
    log-probabilities s_b of the trees, the sentence's vector is sum_b softmax_b(s_b) r_b. Through
    s_b the scores are learned.

    States that merged the same pairs in another order are equal. They become one state, whose
    probability is the sum of theirs; in the published code each takes a place of the beam. So a
    beam with room for all states gives the expectation of the root under all orders of merges.
    Equal states are told by a hash of 64 bits over their constituents.

    In training, proposals and next states are drawn without replacement, by Gumbel noise on their
    log-probabilities, as in the published code. Otherwise the leftmost of equal scores wins.

    OneSoft is the paper's variant that learns from all proposals. In training, the last place of
    the beam is for the mean of all proposals but the best ``beam`` - 1, and of their scores, each
    weighted by the softmax of the scores. As in the published code, the noise then only draws the
    proposals. That code mixes nodes and places of merges; here, sequences are mixed.

    A step computes two cells for each state, those beside the new node; a mixed state needs those
    of all its pairs. Sentences wait until the longer ones of the batch have come down to their
    length, so all states of a step have the same number of nodes, and none is padding.

    Args:
        cell: composes nodes.
        beam: states that are kept.
        noise: scale of the Gumbel noise in training; 0 for none.
        one_soft: mix all but the best states in training.

    Raises:
        ValueError: the beam is no integer, below 1, or below 2 with OneSoft, or the noise is
            negative.
    """

    def __init__(
        self, cell: RecursiveCell, beam: int = 5, noise: float = 1.0, one_soft: bool = False
    ):
        super().__init__()
        refuse_fractions(beam=beam)
        if beam < 1:
            raise ValueError(f"the beam must have room for 1 tree or more, not {beam}")
        if not noise >= 0:
            raise ValueError(f"the noise of the beam must not be negative: {noise}")
        if one_soft and beam == 1:
            raise ValueError("OneSoft needs a beam of 2 or more: one tree leaves nothing to mix")
        self.cell, self.beam, self.noise, self.one_soft = cell, beam, noise, one_soft
        self.scorer = nn.Linear(cell.size, 1, bias=False)  # softmax would cancel a bias

    def extra_repr(self) -> str:
        """The trees that are kept, and how they are chosen."""
        return f"beam={self.beam}, noise={self.noise:g}, one_soft={self.one_soft}"

    def forward(self, words: Tensor, lengths: Tensor) -> BeamOfTrees:
        """Vectors and trees of sentences.

        Args:
            words: (batch, n, size) word vectors.
            lengths: (batch,) words of each, at least 1.

        Raises:
            ValueError: an empty batch, or a length out of range.
        """
        if not len(words):
            raise ValueError("the batch is empty; it needs 1 sentence or more")
        on_cpu = sentence_lengths(lengths, words, device="cpu")
        order = on_cpu.argsort(descending=True, stable=True)
        sizes = on_cpu[order].tolist()
        lengths, order = on_cpu.to(words.device), order.to(words.device)
        # Gradients of the cell's weights would read what is beyond a sentence's end.
        words = words.masked_fill(~within(lengths, words.size(1))[..., None], 0.0)
        start = self._start(words[order, : sizes[0]])
        joining, joined, states, history = Counter(sizes), 0, None, []
        for width in range(sizes[0], 0, -1):
            if joining[width]:
                rows = slice(joined, joined + joining[width])
                states, joined = together(states, start, rows, width), rows.stop
            if width > 1:
                states, choice = self._next(states)
                history.append(choice)
        total = states.total.masked_fill(~states.exists, -torch.inf)
        roots = self.cell.vector(states.nodes.squeeze(2))
        vectors = (total.softmax(1).to(roots.dtype)[..., None] * roots).sum(1)
        found = vectors, roots, total, merges_of(history, ranked(total.detach())[:, 0])
        return BeamOfTrees(*(part[order.argsort()] for part in found))

    def _start(self, words: Tensor) -> States:
        """The first state of every sentence, and places for the others."""
        leaves = self.cell.leaf(words)
        # Zeros at both ends; beyond a sentence's end, nothing is ever read.
        composed = pad(self.cell(leaves[:, :-1], leaves[:, 1:]), (0, 0, 1, 1))
        scores = self._score(composed)
        bounds = torch.arange(words.size(1) + 1, device=words.device).expand(len(words), -1)
        given = (part[:, None].expand(-1, self.beam, *part.shape[1:])
                 for part in (leaves, composed, scores, bounds))  # fmt: skip
        total = scores.new_zeros(len(words), self.beam)
        first = torch.arange(self.beam, device=words.device) == 0
        return States(*given, total, first.expand_as(total), torch.zeros_like(total).long())

    def _score(self, nodes: Tensor) -> Tensor:
        """Scores (..) of nodes (.., state), in float32 or better."""
        scores = self.scorer(self.cell.vector(nodes)).squeeze(-1)
        return at_least_float32(scores)

    def _choose(self, states: States) -> Choice:
        """The best next states of each sentence; all that are proposed, if some will be mixed."""
        log_probability = states.scores[..., 1:-1].log_softmax(-1)
        place = self._best(log_probability)
        start, end = states.bounds.gather(2, place), states.bounds.gather(2, place + 2)
        keys = (states.keys[..., None] + key_of(start, end)).flatten(1)
        total = (states.total[..., None] + log_probability.gather(2, place)).flatten(1)
        exists = states.exists[..., None].expand_as(place).flatten(1)
        total, exists = equal_as_one(total, keys, exists)
        possible = total.masked_fill(~exists, -torch.inf)
        mixes = self.one_soft and self.training
        best = ranked(possible.detach()) if mixes else self._best(possible)
        offered = place.flatten(1), start.flatten(1), end.flatten(1), total, exists, keys
        return Choice(best // place.size(2), *(part.gather(1, best) for part in offered))

    def _best(self, scores: Tensor) -> Tensor:
        """Places (.., k) of the largest of scores (.., m); in training, after the noise."""
        scores = scores.detach()
        if self.training and self.noise:
            scores = scores + self.noise * own_gumbel_noise(scores)
        return ranked(scores)[..., : self.beam]

    def _next(self, states: States) -> tuple[States, Choice]:
        """The next states, and where they come from."""
        choice = self._choose(states)
        if choice.place.size(1) <= self.beam:
            return self._merge(states, choice), choice
        first = self._merge(states, Choice(*(part[:, : self.beam - 1] for part in choice)))
        mixed = self._mix(states, Choice(*(part[:, self.beam - 1 :] for part in choice)))
        both = (torch.cat(pair, 1) for pair in zip(first, mixed, strict=True))
        return States(*both), Choice(*(part[:, : self.beam] for part in choice))

    def _merge(self, states: States, choice: Choice) -> States:
        """The chosen states, one node shorter."""
        composed, scores, bounds = (without_next(part, choice) for part in states[1:4])
        if (width := states.nodes.size(2)) > 2:
            parent, place = choice.parent, choice.place[..., None]
            left = take(states.nodes, parent, (place - 1).clamp(min=0))
            right = take(states.nodes, parent, (place + 2).clamp(max=width - 1))
            merged = take(states.composed, parent, place + 1)
            beside = self.cell(torch.cat([left, merged], 2), torch.cat([merged, right], 2))
            pairs = torch.cat([place, place + 1], 2)
            composed = put(composed, pairs, beside)
            scores = scores.scatter(2, pairs, self._score(beside))
        return States(nodes_after(states, choice), composed, scores, bounds, *choice[-3:])

    def _mix(self, states: States, choice: Choice) -> States:
        """One state, the mean of the chosen ones; it has the spans of the first, and a new key."""
        worst = torch.finfo(choice.total.dtype).min
        shares = choice.total.masked_fill(~choice.exists, worst).softmax(1)
        nodes = shares[..., None, None].to(states.nodes.dtype) * nodes_after(states, choice)
        nodes = nodes.sum(1, keepdim=True)
        composed = pad(self.cell(nodes[:, :, :-1], nodes[:, :, 1:]), (0, 0, 1, 1))
        total = (shares * choice.total).sum(1, keepdim=True)
        first = Choice(*(part[:, :1] for part in choice))
        bounds = without_next(states.bounds, first)
        return States(
            nodes, composed, self._score(composed), bounds, total, first.exists,
            key_of(first.keys, first.keys),
        )  # fmt: skip
