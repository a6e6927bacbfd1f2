"""How many passes of updates an undirected network takes, in training and otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.orders import Order, check_passes, drawn_passes

CONVERGE = "converge"


@dataclass
class Passes:
    """The number of passes of a network.

    Args:
        training: passes while training; the most of them if ``random``.
        random: draw a number from 1 to ``training`` for each batch, from torch's own generator.
        test: passes while not training, or ``converge``: for each instance, until no number moves
            by more than the tolerance.
        tolerance: largest move of a number in a pass that counts as none.
        most: of passes, if they end by convergence.

    Raises:
        ValueError: a number of passes below 1, a tolerance that is not above 0, or another word.
    """

    training: int = 1
    random: bool = False
    test: int | str = 1
    tolerance: float = 1e-3
    most: int = 10

    def __post_init__(self):
        if isinstance(self.test, str) and self.test != CONVERGE:
            raise ValueError(f"passes are a number or {CONVERGE!r}, not {self.test!r}")
        for count in (self.training, self.most, *([] if self.converge else [self.test])):
            check_passes(count)
        if not self.tolerance > 0:
            raise ValueError(f"the tolerance must be above 0, not {self.tolerance}")

    @property
    def converge(self) -> bool:
        """Whether convergence ends the passes while not training."""
        return self.test == CONVERGE

    def count(self, training: bool) -> int:
        """Passes for the next batch; drawn, if they are to be, while training.

        Raises:
            ValueError: convergence ends the passes.
        """
        if not training:
            if self.converge:
                raise ValueError("passes that end by convergence have no number")
            return int(self.test)
        return drawn_passes(self.training) if self.random else self.training

    def minimise(
        self, graph: FactorGraph, observed: Mapping[str, Tensor], order: Order,
        dropout: bool = True, **given: Mapping | None,
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Infer variables: see :meth:`.FactorGraph.minimise`.

        Args:
            graph: tells whether it is training.
            observed, order, dropout: as there.
            given: ``start``, ``supports`` and ``clamped``, as there.

        Returns:
            The values of all variables that have one, and (batch,) passes of each instance.
        """
        if self.converge and not graph.training:
            found = graph.converge(observed, order, self.tolerance, self.most, **given)
            return found.values, found.passes
        count = self.count(graph.training)
        values = graph.minimise(observed, order, count, dropout=dropout, **given)
        first = next(iter(values.values()))
        return values, torch.full((len(first),), count, device=first.device)
