"""The biaffine dependency parser as an undirected network.

Source: T. Mihaylova's thesis, section 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.masks import within
from fairseq_struct.modules.undirected.factors import Biaffine, Bilinear
from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.tree_marginals import TreeMarginals, TreeSupport
from fairseq_struct.modules.undirected.variables import Variable
from fairseq_struct.structure.checks import sentence_lengths
from fairseq_struct.structure.dependency import DependencyTrees

# Orders of the updates in a pass. The published parser updates heads and modifiers from their old
# values; only the sequential order is sure to decrease the energy.
ORDERS = {"sequential": ("h", "m", "y"), "simultaneous": (("h", "m"), "y")}
# What stands in H for the root, the head of a word that no other word is the head of.
ROOT_HEADS = ("word", "learned")


@dataclass(frozen=True)
class Parsed:
    """What a parser finds in a batch of sentences.

    Args:
        trees: the distribution over trees of the last update of Y.
        passes: (batch,) passes of each sentence.
        energy: (batch,) of the last assignment; None unless convergence ended the passes.
        decode_single_root: whether the root of a best tree has exactly one modifier, whatever the
            distribution.
    """

    trees: DependencyTrees
    passes: Tensor
    energy: Tensor | None = None
    decode_single_root: bool = False

    def heads(self, single_root: bool | None = None) -> Tensor:
        """Heads of the best trees, (batch, n), 1-based, 0 for the root and for padding.

        Args:
            single_root: replaces ``decode_single_root``.
        """
        trees = self.trees
        single_root = self.decode_single_root if single_root is None else single_root
        if trees.single_root == single_root:
            return trees.heads
        return DependencyTrees(
            trees.scores.detach(), trees.lengths, projective=False, single_root=single_root
        ).heads


class UndirectedParser(nn.Module):
    """Heads H, modifiers M and trees Y, inferred from the words X (eqs. 5.15 to 5.20).

    E(X, H, M, Y) has the factors -<H, W_H X>, -<M, W_M X> and -<Y, H V M^T>. H and M have the
    regulariser of ReLU and biases, and Y the structured entropy of nonprojective trees. One pass
    from zero is the biaffine parser. The matrix-tree theorem is used once for the last
    update of Y and for the likelihood: both are of the same :attr:`Parsed.trees`.

    The diagonal of Y are arcs from the root. With the root head ``word``, which is eq. 5.15 as it
    stands, their scores are the diagonal of H V M^T: a word's own row of H stands for the root.
    With ``learned`` the root has a row of its own, h_0 = relu(w + V M y_0), w learned and y_0 the
    diagonal of Y, as biaffine parsers have. (The published code, too, with the vector of BERT's
    first symbol in place of w.)

    The energy has no lower bound: with large V, H and M grow from pass to pass. Values that are no
    longer finite are an :class:`.InputError`. V starts at zero, as is customary for biaffine
    parsers: further passes then start without an effect, and training begins alike for all k.

    Args:
        encoder: a directed network with ``size``, from tokens and lengths (batch,) to vectors
            (batch, n, size), 0 beyond a sentence's end.
        size: d, the size of the vectors in H and M.
        dropout: of H and M, with one mask for all passes.
        passes: how many; one if not given.
        order: one of ``ORDERS``.
        single_root: whether Y are trees whose root has exactly one modifier.
        decode_single_root: whether best trees are such trees.
        root_head: one of ``ROOT_HEADS``.

    Raises:
        ValueError: an unknown order or root head, a size below 1, or a dropout outside of [0, 1).
    """

    def __init__(
        self, encoder: nn.Module, size: int = 400, dropout: float = 0.3,
        passes: Passes | None = None, order: str = "sequential", single_root: bool = True,
        decode_single_root: bool = False, root_head: str = "word",
    ):  # fmt: skip
        super().__init__()
        if order not in ORDERS:
            raise ValueError(unknown_name("order", order, ORDERS))
        if root_head not in ROOT_HEADS:
            raise ValueError(unknown_name("root head", root_head, ROOT_HEADS))
        self.encoder, self.order = encoder, ORDERS[order]
        self.learned_root = root_head == "learned"
        self.passes = passes or Passes()
        self.decode_single_root = decode_single_root
        trees = TreeMarginals(projective=False, single_root=single_root)
        variables = {
            "x": Variable("identity", shape=(None, encoder.size)),
            "h": Variable("relu", (size,), dropout, shape=(None, size)),
            "m": Variable("relu", (size,), dropout, shape=(None, size)),
            "y": Variable(trees, shape=(None, None)),
        }
        factors = {
            "heads": Bilinear("x", "h", encoder.size, size),
            "modifiers": Bilinear("x", "m", encoder.size, size),
            "arcs": Biaffine("y", "h", "m", size, "h0" if self.learned_root else None),
        }
        if self.learned_root:
            first, *others = self.order
            both = ("h0", first) if isinstance(first, str) else (("h0", *first),)
            self.order = (*both, *others)
            variables["x0"] = Variable("identity", shape=(1,))
            variables["h0"] = Variable("relu", dropout=dropout, shape=(size,))
            factors["root"] = Bilinear("x0", "h0", 1, size)
        self.graph = FactorGraph(variables, factors)
        nn.init.zeros_(self.graph.factors["arcs"].weight)

    def extra_repr(self) -> str:
        """The order of the updates, and how many passes there are."""
        passes = f"{self.passes.training} passes ({self.passes.test} in tests)"
        return f"{passes}, order={self.order}, decode_single_root={self.decode_single_root}"

    def forward(self, tokens: Tensor, lengths: Tensor, allowed: Tensor | None = None) -> Parsed:
        """Infer the trees of sentences.

        Args:
            tokens: (batch, n, ...), what the encoder reads.
            lengths: (batch,) words per sentence, from 1 to n.
            allowed: (batch, n, n) booleans, arcs that may be used; all if not given. Every update
                of Y keeps to them.

        Raises:
            InputError: the values have diverged.
            ValueError: a length is out of range.
        """
        lengths = sentence_lengths(lengths, tokens)
        return self.infer(self.encoder(tokens, lengths), lengths, allowed)

    def infer(self, words: Tensor, lengths: Tensor, allowed: Tensor | None = None) -> Parsed:
        """As :meth:`forward`, from the vectors X (batch, n, size) of the words."""
        lengths = sentence_lengths(lengths, words)
        supports = {"y": TreeSupport(lengths, allowed)}
        if (lengths < words.size(1)).any():
            supports["h"] = supports["m"] = within(lengths, words.size(1)).unsqueeze(2)
            # Energies and gradients would read what is beyond a sentence's end.
            words = words.masked_fill(~supports["h"], 0.0)
        observed = self.observed(words)
        if self.passes.converge and not self.training:
            return self._converge(observed, supports)
        count = self.passes.count(self.training)
        descent = self.graph.descent(observed, self.order, supports=supports)
        for _ in range(count - 1):
            descent.run(self.order)
        descent.run(self.order[:-1])
        trees = self._trees(descent.field("y"), supports)
        taken = torch.full((len(words),), count, device=words.device)
        return Parsed(trees, taken, None, self.decode_single_root)

    def observed(self, words: Tensor) -> dict[str, Tensor]:
        """What the graph observes: X (batch, n, size), and 1 in place of the root's row of X."""
        return {"x": words} | ({"x0": words.new_ones(len(words), 1)} if self.learned_root else {})

    def _trees(self, scores: Tensor, supports: dict) -> DependencyTrees:
        """The distribution over trees that the last update of Y takes the marginals of."""
        regulariser = self.graph.variables["y"].regulariser
        regulariser.check("y", scores)
        return regulariser.trees(scores, supports["y"])

    def _converge(self, observed: dict, supports: dict) -> Parsed:
        found = self.graph.converge(
            observed, self.order, self.passes.tolerance, self.passes.most, supports=supports
        )
        trees = self._trees(self.graph.field("y", found.values), supports)
        energy = self.graph.energy(found.values, supports, updated=("y",))
        return Parsed(trees, found.passes, energy, self.decode_single_root)
