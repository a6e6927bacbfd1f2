"""Small factor graphs of every kind of factor, in float64."""

import torch

from fairseq_struct.modules.undirected import (
    Biaffine,
    Bilinear,
    Contraction,
    Convolution,
    FactorGraph,
    Linear,
    TreeMarginals,
    Variable,
)


def randomised(graph: FactorGraph) -> FactorGraph:
    """The graph in float64 with small random parameters, biases too."""
    generator = torch.Generator().manual_seed(2)
    for parameter in graph.double().parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator).double()
    return graph


def chain(first="tanh", second="softmax", dropout=0.0) -> FactorGraph:
    """X, H and Y as in figure 5.2 (b)."""
    return randomised(FactorGraph(
        {
            "x": Variable("identity", (3,)),
            "h": Variable(first, (4,), dropout),
            "y": Variable(second, (2,)),
        },
        {"xh": Bilinear("x", "h", 3, 4), "hy": Bilinear("h", "y", 4, 2)},
    ))  # fmt: skip


def images() -> FactorGraph:
    """An image whose kernel leaves pixels over, a hidden layer, and classes."""
    return randomised(FactorGraph(
        {
            "x": Variable("tanh"), "h": Variable("tanh", (2, 1, 1)), "y": Variable("softmax", (3,)),
        },
        {
            "xh": Convolution("x", "h", 1, 2, 3, size=6, stride=2),
            "hy": Bilinear("h", "y", 8, 3, shape=(2, 2, 2)),
        },
    ))  # fmt: skip


def attention() -> FactorGraph:
    """The trilinear factors of eq. 5.13, and a multilinear one with a weight."""
    return randomised(FactorGraph(
        {name: Variable("softmax" if name == "s" else "tanh") for name in "qksvz"},
        {
            "qks": Contraction("qks", "bid,bjd,bij"),
            "vs": Contraction("vs", "bjd,bij", torch.randn(3, 5), "di"),
            "zk": Contraction(("z", "k"), "bje,bjd", torch.randn(2, 3), "ed"),
        },
    ))  # fmt: skip


def parser(words: int = 3) -> FactorGraph:
    """Figure 5.2 (d), with bounded heads and modifiers so that energies stay moderate."""
    return randomised(FactorGraph(
        {
            "x": Variable("identity"), "h": Variable("relu", (4,)), "m": Variable("tanh", (4,)),
            "y": Variable(TreeMarginals()),
        },
        {
            "xh": Bilinear("x", "h", 3, 4), "xm": Bilinear("x", "m", 3, 4),
            "hmy": Biaffine("y", "h", "m", 4),
        },
    ))  # fmt: skip


def rooted_parser() -> FactorGraph:
    """The same with a row of H for the root."""
    return randomised(FactorGraph(
        {
            "x": Variable("identity"), "x0": Variable("identity"), "h": Variable("relu", (4,)),
            "h0": Variable("relu"), "m": Variable("tanh", (4,)), "y": Variable(TreeMarginals()),
        },
        {
            "xh": Bilinear("x", "h", 3, 4), "xm": Bilinear("x", "m", 3, 4),
            "root": Bilinear("x0", "h0", 1, 4), "hmy": Biaffine("y", "h", "m", 4, "h0"),
        },
    ))  # fmt: skip


def operators() -> FactorGraph:
    """Sums of what comes before, with the adjoint by differentiation and as given."""
    return randomised(FactorGraph(
        {
            "x": Variable("sigmoid", shape=(3,)), "h": Variable("tanh", (3,), shape=(3,)),
            "y": Variable("softmax", shape=(3,)),
        },
        {
            "xh": Linear("x", "h", lambda x: x.cumsum(-1), (3,)),
            "hy": Linear("h", "y", lambda x: x.flip(-1), (3,), lambda y: y.flip(-1)),
        },
    ))  # fmt: skip


def drawn(graph: FactorGraph, shapes: dict, batch: int = 2) -> dict:
    """Random values in the domain of every variable."""
    generator = torch.Generator().manual_seed(7)
    return {
        name: graph.variables[name].regulariser.gradient(
            torch.randn(batch, *shape, generator=generator, dtype=torch.float64)
        )
        for name, shape in shapes.items()
    }


GRAPHS = {
    "chain": (chain, {"x": (3,), "h": (4,), "y": (2,)}),
    "images": (images, {"x": (1, 6, 6), "h": (2, 2, 2), "y": (3,)}),
    "attention": (
        attention, {"q": (5, 3), "k": (4, 3), "s": (5, 4), "v": (4, 3), "z": (4, 2)}
    ),
    "operators": (operators, {"x": (3,), "h": (3,), "y": (3,)}),
    "parser": (parser, {"x": (3, 3), "h": (3, 4), "m": (3, 4), "y": (3, 3)}),
    "rooted_parser": (
        rooted_parser,
        {"x": (3, 3), "x0": (1,), "h": (3, 4), "h0": (4,), "m": (3, 4), "y": (3, 3)},
    ),
}  # fmt: skip
