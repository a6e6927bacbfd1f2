"""The undirected multi-layer perceptron (Mihaylova's thesis, eqs. 5.8 and 5.9)."""

from collections.abc import Sequence
from math import prod

from fairseq_struct.modules.undirected.factors import Bilinear
from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.images import IMAGE, LABEL, ImageNetwork
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.variables import Variable


class UndirectedMLP(ImageNetwork):
    """E_XH(x, h) = -<h, W x>, E_HY(h, y) = -<y, V h>, with one or more hidden layers.

    E_X has the regulariser of tanh, because pixels are bounded. X has a bias only if gamma is above
    0: without images inferred from labels, X is always observed and its energy plays no part.

    Args:
        shape: of an image, (channels, height, width).
        labels: number of labels.
        sizes: of the hidden layers.
        passes, gamma, initialisation: as for :class:`.ImageNetwork`.
        activation: of the hidden layers, one of ``REGULARISERS``. With one that is not bounded,
            as relu, the energy may have no minimum, and values grow with every pass.
        dropout: of the hidden layers.

    Raises:
        ValueError: a size or an option out of range.
    """

    def __init__(
        self, shape: Sequence[int], labels: int, sizes: Sequence[int], passes: Passes,
        gamma: float = 0.0, initialisation: str = "zero", activation: str = "tanh",
        dropout: float = 0.0,
    ):  # fmt: skip
        if not sizes:
            raise ValueError("a perceptron needs a hidden layer")
        variables = {IMAGE: Variable("tanh", bias=shape if gamma else None, shape=shape)}
        for number, size in enumerate(sizes, 1):
            variables[f"H{number}"] = Variable(activation, (size,), dropout, shape=(size,))
        variables[LABEL] = Variable("softmax", bias=(labels,), shape=(labels,))
        names, widths = list(variables), [prod(shape), *sizes, labels]
        factors = {
            f"{x}_{y}": Bilinear(x, y, *widths[place : place + 2], None if place else shape)
            for place, (x, y) in enumerate(zip(names, names[1:], strict=False))
        }
        graph = FactorGraph(variables, factors)
        super().__init__(graph, len(sizes), shape, labels, passes, gamma, initialisation)
