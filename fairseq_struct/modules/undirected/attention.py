"""Undirected attention, which completes sequences.

Source: T. Mihaylova's thesis, section 5.4. Variables are X (inputs), Q, K, V (queries, keys,
values), S (attention weights, distributions in their rows) and H. With P for sinusoidal positions,
the factors are (eq. 5.13)

    -<Q, (X + P) W_Q^T>, -<K, (X + P) W_K^T>, -<V, (X + P) W_V^T>, -<S, Q K^T>, -<H, S V>

and the unary energies half of the squared norm, but E_S = -sqrt(d) times the entropies of the rows.
So a pass updates (eq. 5.14, one position in each row)

    Q = (X + P) W_Q^T + S K,  K = (X + P) W_K^T + S^T Q,  V = (X + P) W_V^T + S^T H,
    S = softmax((Q K^T + H V^T) / sqrt(d)),  H = S V,  X = Q W_Q + K W_K + V W_V.

Eq. 5.14 has V H^T, the transpose of what eq. 5.13 gives, and W_Z for W_Q; we follow eq. 5.13. Only
the hidden rows of X are updated. They are a variable of their own here, ``hidden``, so that what
the others send is computed once, and no row of X is computed in vain.

Updates decrease the energy, but it has no minimum: over Q and K alone, it is bounded only if no
singular value of S is above 1, and S has one of 1 or more. So passes do not converge, and more of
them than in training spoil what was learned (:meth:`UndirectedAttention.warn_of_passes`).
"""

import logging
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.masks import check_lengths_of, within
from fairseq_struct.modules.undirected.attention_factors import (
    HIDDEN,
    PLACES,
    PROJECTED,
    Given,
    HiddenRows,
    Projections,
)
from fairseq_struct.modules.undirected.factors import Contraction
from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.orders import Order, RandomOrder, forward_backward, steps_of
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.regularisers import Softmax
from fairseq_struct.modules.undirected.variables import Variable

logger = logging.getLogger(__name__)

INFERRED = (*PROJECTED, "S", "H")
ORDERS = ("forward_backward", "random")
# Outside of training, a sequence has one of so many random orders: five variables have as many
# permutations.
TEST_ORDERS = 120


class Completion(NamedTuple):
    """What a network finds for hidden symbols.

    Args:
        logits: (batch, m, symbols) of each hidden symbol; of no use at padding.
        passes: (batch,) passes of updates.
        energy: (batch,), if passes end by convergence.
    """

    logits: Tensor
    passes: Tensor
    energy: Tensor | None = None


class Completer(nn.Module):
    """A network that reads sequences of symbols and predicts the hidden ones.

    Logits are products with the symbols' embeddings. A hidden symbol enters as its position alone.

    Args:
        symbols: number of symbols.
        size: d, even.

    Raises:
        ValueError: a number is out of range, or the size is odd.
    """

    def __init__(self, symbols: int, size: int):
        super().__init__()
        if symbols < 1 or size < 2 or size % 2:
            raise ValueError(f"{symbols} symbols of size {size}: the size must be even, above 0")
        self.embedding = nn.Embedding(symbols, size)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)

    def read(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """X, zero at hidden rows and at padding, and R of :class:`HiddenRows`.

        Args:
            tokens: (batch, n) symbols, any at hidden places and at padding.
            lengths: (batch,) symbols of each sequence.
            places: (batch, m) places of hidden symbols, -1 for padding.

        Raises:
            ValueError: lengths of another batch, or out of range.
        """
        check_lengths_of(tokens, lengths)
        n = tokens.size(1)
        rows = functional.one_hot(places.clamp(min=0), n) * (places >= 0).unsqueeze(-1)
        known = within(lengths, n) & ~rows.any(1)
        vectors = self.embedding(tokens.masked_fill(~known, 0)) * known.unsqueeze(-1)
        return vectors, rows.transpose(1, 2).to(vectors.dtype)

    def logits(self, vectors: Tensor) -> Tensor:
        """Scores of all symbols."""
        return functional.linear(vectors, self.embedding.weight)


class SelfAttention(Completer):
    """The plain, directed network: softmax(Q K^T / sqrt(d)) V at the hidden places.

    Args:
        symbols, size: as for :class:`Completer`.
    """

    def __init__(self, symbols: int, size: int):
        super().__init__(symbols, size)
        self.projections = Projections(size)

    def forward(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> Completion:
        """Logits of the hidden symbols: see :meth:`Completer.read`."""
        vectors, rows = self.read(tokens, lengths, places)
        made = self.projections.messages("Q", {"X": vectors})
        mask = None
        if int(lengths.min()) < tokens.size(1):
            mask = within(lengths, tokens.size(1)).unsqueeze(1)
        found = functional.scaled_dot_product_attention(*(made[x] for x in PROJECTED), mask)
        passes = torch.ones_like(lengths)
        return Completion(self.logits(rows.transpose(1, 2) @ found), passes)

    @torch.no_grad()
    def attentions(self, tokens: Tensor, places: Tensor) -> list[list[Tensor]]:
        """S (n, n) of one sequence, as of :meth:`UndirectedAttention.attentions`."""
        vectors, _ = self.read(tokens, torch.tensor([tokens.size(1)]).to(tokens), places)
        made = self.projections.messages("Q", {"X": vectors})
        scores = made["Q"] @ made["K"].transpose(1, 2)
        return [[(scores / scores.new_tensor(vectors.size(-1)).sqrt()).softmax(-1)[0]]]


class UndirectedAttention(Completer):
    """The undirected network; see the head of this file.

    Args:
        symbols, size: as for :class:`Completer`.
        order: of a pass: ``forward_backward``, Q K V S H S V K Q and then the hidden rows of X, or
            ``random``, a new permutation of Q K V S H in each pass, all of which start at zero,
            and then the hidden rows of X. Random orders come from torch's own generator, and
            outside of training from the sequence's length and hidden places, so that a result
            depends on nothing else in the batch.
        passes: how many.
        dropout: of H, one mask for all passes.

    Raises:
        ValueError: an unknown order, or as for :class:`Completer`.
    """

    def __init__(
        self, symbols: int, size: int, order: str = ORDERS[0], passes: Passes | None = None,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__(symbols, size)
        if order not in ORDERS:
            raise ValueError(unknown_name("order", order, ORDERS))
        self.order, self.passes = order, passes or Passes()
        projections, rows, pairs = Projections(size), (None, size), (None, None)
        self.graph = FactorGraph(
            {
                "X": Variable("identity", shape=rows),
                PLACES: Variable(Given(), shape=pairs),
                HIDDEN: Variable("identity", shape=rows),
                **{name: Variable("identity", shape=rows) for name in PROJECTED},
                "S": Variable(Softmax(size**0.5), shape=pairs),
                "H": Variable("identity", dropout=dropout, shape=rows),
            },
            {
                "inputs": projections,
                "hidden_inputs": HiddenRows(projections),
                "scores": Contraction(("Q", "K", "S"), "bid,bjd,bij"),
                "means": Contraction(("H", "S", "V"), "bid,bij,bjd"),
            },
        )

    def forward(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> Completion:
        """Logits of the hidden symbols: see :meth:`Completer.read`."""
        if self.training or self.order != "random":
            return self._complete(tokens, lengths, places)
        own = order_of(lengths, places)
        rows = [(own == number).nonzero()[:, 0] for number in own.unique()]
        parts = [self._complete(tokens[some], lengths[some], places[some]) for some in rows]
        back = torch.cat(rows).argsort()
        energies = [part.energy for part in parts]
        return Completion(
            torch.cat([part.logits for part in parts])[back],
            torch.cat([part.passes for part in parts])[back],
            None if energies[0] is None else torch.cat(energies)[back],
        )

    def _complete(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> Completion:
        observed, order, given = self.problem(tokens, lengths, places)
        values, passes = self.passes.minimise(self.graph, observed, order, **given)
        energy = None
        if self.passes.converge and not self.training:
            energy = self.graph.energy(values, given["supports"])
        return Completion(self.logits(values[HIDDEN]), passes, energy)

    def warn_of_passes(self) -> None:
        """Warn of passes at test that end by convergence, or are more than in training."""
        test, training = self.passes.test, self.passes.training
        if self.passes.converge or int(test) > training:
            logger.warning(
                f"undirected attention, trained with {training} passes and used with {test}: its "
                "energy has no minimum, so that passes do not converge, and more of them than in "
                "training spoil its answers"
            )

    @torch.no_grad()
    def attentions(self, tokens: Tensor, places: Tensor) -> list[list[Tensor]]:
        """The values (n, n) that S takes, in each pass, for one sequence.

        In the order forward_backward, the two of a pass are those before and after its backward
        half (figure 5.4).

        Args:
            tokens, places: (1, n) and (1, m), as for :meth:`Completer.read`.
        """
        lengths = torch.tensor([tokens.size(1)]).to(tokens)
        passes = int(self(tokens, lengths, places).passes)
        observed, order, given = self.problem(tokens, lengths, places)
        descent, found = self.graph.descent(observed, order, **given), []
        for number in range(passes):
            found.append([])
            for name in steps_of(order, number):
                descent.run([name])
                if name == "S":
                    found[-1].append(descent.values["S"][0])
        return found

    def problem(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> tuple[dict, Order, dict]:
        """What is minimised to complete a batch.

        Args:
            tokens, lengths, places: as for :meth:`forward`.

        Returns:
            The observed values, the order of a pass, and ``start`` and ``supports``, as
            :meth:`.FactorGraph.minimise` takes them.
        """
        vectors, rows = self.read(tokens, lengths, places)
        batch, n, size = vectors.shape
        start, supports = {}, {}
        if int(lengths.min()) < n:
            word = within(lengths, n)
            supports = dict.fromkeys(PROJECTED, word.unsqueeze(2))
            supports["S"] = word.unsqueeze(1) & word.unsqueeze(2)
        if self.order == "random":
            generator = None
            if not self.training:  # all sequences have the same order
                generator = torch.Generator().manual_seed(int(order_of(lengths, places)[0]))
            order = RandomOrder(INFERRED, (HIDDEN,), generator)
            start = {name: vectors.new_zeros(batch, n, size) for name in (*PROJECTED, "H")}
            start["S"] = vectors.new_zeros(batch, n, n)
        else:
            order = (*forward_backward(INFERRED), HIDDEN)
        return {"X": vectors, PLACES: rows}, order, {"start": start, "supports": supports}


def order_of(lengths: Tensor, places: Tensor) -> Tensor:
    """The number of each sequence's random order outside of training, (batch,)."""
    powers = 7 ** torch.arange(places.size(1), device=places.device)
    return (lengths + 11 * ((places + 1) * powers).sum(1)) % TEST_ORDERS
