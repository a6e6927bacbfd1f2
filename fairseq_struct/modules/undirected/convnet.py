"""The undirected convolutional network (Mihaylova's thesis, section 5.3 and appendix D)."""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.undirected.factors import Bilinear, Convolution
from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.images import (
    IMAGE,
    LABEL,
    ClassifiedImages,
    ImageNetwork,
)
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.variables import Variable
from fairseq_struct.structure.precision import at_least_float32

# Channels, kernels and stride of the thesis.
CHANNELS, KERNELS, STRIDE = (32, 64), (6, 4), 2


def convolutional_graph(
    shape: Sequence[int], labels: int, channels: Sequence[int] = CHANNELS, dropout: float = 0.0
) -> FactorGraph:
    """X - H1 - H2 - Y with two convolutions and a linear layer (eqs. 5.10, 5.11 and D.1).

    H1 and H2 have a bias for each channel and the regulariser of tanh. X has that regulariser, too
    (section 5.3 and eq. D.5; eq. D.2 has the squared norm in its place), and no bias.

    Args:
        shape: of an image, (channels, height, width).
        labels: number of labels.
        channels: of H1 and of H2.
        dropout: of H1 and H2.

    Raises:
        ValueError: the image is too small for the kernels.
    """
    first, second = channels
    size, inner = shape[-1], (shape[-1] - KERNELS[0]) // STRIDE + 1
    if shape[-2] != size:
        raise ValueError(f"images must be square, not {shape[-2]} by {size} pixels")
    if inner < KERNELS[1]:
        raise ValueError(f"images of {size} by {size} pixels are too small for this network")
    outer = (inner - KERNELS[1]) // STRIDE + 1
    last = (second, outer, outer)
    variables = {
        IMAGE: Variable("tanh", shape=shape),
        "H1": Variable("tanh", (first, 1, 1), dropout, shape=(first, inner, inner)),
        "H2": Variable("tanh", (second, 1, 1), dropout, shape=last),
        LABEL: Variable("softmax", bias=(labels,), shape=(labels,)),
    }
    factors = {
        "X_H1": Convolution(IMAGE, "H1", shape[0], first, KERNELS[0], size, STRIDE),
        "H1_H2": Convolution("H1", "H2", first, second, KERNELS[1], inner, STRIDE),
        "H2_Y": Bilinear("H2", LABEL, second * outer * outer, labels, last),
    }
    return FactorGraph(variables, factors)


class UndirectedConvnet(ImageNetwork):
    """The network of section 5.3.

    Args:
        shape: of an image, (channels, height, width).
        labels: number of labels.
        passes, gamma, initialisation: as for :class:`.ImageNetwork`.
        channels: of H1 and of H2.
        dropout: of H1 and H2.

    Raises:
        ValueError: an option out of range, or images too small for the kernels.
    """

    def __init__(
        self, shape: Sequence[int], labels: int, passes: Passes, gamma: float = 0.0,
        initialisation: str = "zero", channels: Sequence[int] = CHANNELS, dropout: float = 0.0,
    ):  # fmt: skip
        graph = convolutional_graph(shape, labels, channels, dropout)
        super().__init__(graph, 2, shape, labels, passes, gamma, initialisation)


class UntiedConvnet(nn.Module):
    """The unconstrained network of table 5.4: the unrolled one, with own weights in each pass.

    H1 has as many channels as the undirected network, H2 has them divided by k, rounded down: this
    gives the thesis's numbers of parameters. Every pass updates H1, H2, Y. Each has its own dropout
    masks, as layers of a plain network have.

    Args:
        shape: of an image, (channels, height, width).
        labels: number of labels.
        passes: k.
        channels: of H1, and of H2 before the division.
        dropout: of H1 and H2.

    Raises:
        ValueError: no channel is left, or images are too small for the kernels.
    """

    gamma = 0.0

    def __init__(
        self, shape: Sequence[int], labels: int, passes: int, channels: Sequence[int] = CHANNELS,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        first, second = channels
        if not 1 <= passes <= second:
            raise ValueError(f"{second} channels cannot be divided among {passes} passes")
        self.shape, self.labels = tuple(shape), labels
        self.graphs = nn.ModuleList(
            convolutional_graph(shape, labels, (first, second // passes), dropout)
            for _ in range(passes)
        )

    def forward(
        self, images: Tensor, labels: Tensor | None = None, with_energy: bool = False
    ) -> ClassifiedImages:
        """As :meth:`.ImageNetwork.forward`; there is no energy, for there is no single graph."""
        start: dict[str, Tensor] = {}
        for graph in self.graphs:
            values = graph.minimise({IMAGE: images}, ("H1", "H2", LABEL), start=start)
            start = {name: value for name, value in values.items() if name != IMAGE}
        logits = at_least_float32(self.graphs[-1].field(LABEL, values))
        passes = images.new_full((len(images),), len(self.graphs)).long()
        if labels is None:
            return ClassifiedImages(logits, passes)
        losses = functional.cross_entropy(logits, labels, reduction="none")
        return ClassifiedImages(logits, passes, None, losses, None, losses)
