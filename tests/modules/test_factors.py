"""Factors of undirected networks: messages, adjoints, and what is refused."""

import pytest
import torch
from factor_graphs import GRAPHS, drawn
from torch import nn
from torch.autograd import gradcheck

from fairseq_struct.modules.undirected import (
    Biaffine,
    Bilinear,
    Contraction,
    Convolution,
    Distance,
    FactorGraph,
    Linear,
    Variable,
)

NAMED = [(kind, name) for kind, (_, shapes) in GRAPHS.items() for name in shapes]
NOT_LINEAR = "the operator is not linear"


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_messages_are_derivatives_of_the_energy(kind, name):
    make, shapes = GRAPHS[kind]
    graph = make()
    values = drawn(graph, shapes)
    for factor in graph.factors.values():
        if name in factor.names:
            leaf = values[name].clone().requires_grad_()
            (slope,) = torch.autograd.grad(factor.energy({**values, name: leaf}).sum(), leaf)
            torch.testing.assert_close(factor.message(name, values), -slope)


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), [(7, 3, 2, 0), (8, 3, 3, 1)])
def test_the_adjoint_of_a_convolution(size, kernel, stride, padding):
    factor = Convolution("x", "h", 2, 3, kernel, size, stride, padding).double()
    x = torch.randn(2, 2, size, size, dtype=torch.float64)
    made = factor.message("h", {"x": x})
    h = torch.randn_like(made)
    back = factor.message("x", {"h": h})
    torch.testing.assert_close((made * h).sum(), (back * x).sum())


@pytest.mark.parametrize("given", [True, False])
def test_a_linear_operator(given):
    def running(x):
        return x.cumsum(-1)

    def backwards(h):
        return h.flip(-1).cumsum(-1).flip(-1)

    factor = Linear("x", "h", running, (5,), backwards if given else None)
    h = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(factor.message("x", {"h": h}), backwards(h))
    layer = nn.Linear(3, 4, bias=False).double()
    factor = Linear("x", "h", layer, (3,))
    assert gradcheck(lambda w, h: factor.message("x", {"h": h}), (layer.weight, h[:, :4].detach()))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            given = {"h": h[:, :4] + 0.0}
            made = factor.message("x", given)
            assert not made.requires_grad
            torch.testing.assert_close(made, given["h"] @ layer.weight)


def test_a_directed_function():
    """Alone it gives its output; its energy with |h|^2 / 2 is half of the squared distance."""
    encoder = nn.Sequential(nn.Linear(3, 4), nn.Tanh()).double()
    graph = FactorGraph(
        {"x": Variable("identity"), "h": Variable("identity"), "y": Variable("softmax")},
        {"xh": Distance("x", "h", encoder), "hy": Bilinear("h", "y", 4, 2)},
    ).double()
    values = drawn(graph, GRAPHS["chain"][1])
    found = graph.minimise({"x": values["x"]}, ("h", "y"), 2)
    found["y"].max().backward()
    assert encoder[0].weight.grad.abs().sum() > 0
    alone = graph.minimise({"x": values["x"]}, ("h", "y"))
    torch.testing.assert_close(alone["h"], encoder(values["x"]))
    energy = graph.factors["xh"].energy(values) + values["h"].square().sum(1) / 2
    expected = (values["h"] - encoder(values["x"])).square().sum(1) / 2
    torch.testing.assert_close(energy, expected)
    with pytest.raises(ValueError, match="must be observed"):
        graph.minimise({"y": values["y"]}, ("h", "x"))
    with torch.no_grad():
        descent = graph.descent({"x": values["x"]}, "hy", {"h": values["h"], "y": values["y"]})
        energies = [graph.energy(descent.values)]
        for name in "hyhyhy":
            descent.run((name,))
            energies.append(graph.energy(descent.values))
    steps = torch.stack(energies).diff(dim=0)
    assert (steps <= 1e-9).all() and (steps < -1e-3).any()


def test_the_output_of_a_directed_function_has_half_of_its_squared_norm():
    variables = {"x": Variable("identity"), "h": Variable("tanh")}
    with pytest.raises(ValueError, match="factor xh: h must have the regulariser identity"):
        FactorGraph(variables, {"xh": Distance("x", "h", nn.Linear(3, 4))})


def with_a_bias_of_zero():
    layer = nn.Linear(3, 4)
    nn.init.zeros_(layer.bias)
    return layer


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Bilinear("x", "x", 1, 1), "different variables"),
        (lambda: Bilinear("x", "y", 0, 1), "sizes"),
        (lambda: Contraction("xy", "bi"), "indices for each"),
        (lambda: Contraction("xy", "bi,aj"), "batch first"),
        (lambda: Contraction("xy", "bi,bj", torch.ones(1, 1)), "come together"),
        (lambda: Contraction("xy", "bi,bij"), "index j"),
        (lambda: Convolution("x", "y", 1, 1, 5, size=4), "kernel of 5"),
        (lambda: Convolution("x", "y", 1, 0, 5, size=9), "must be 1 or more"),
        (lambda: Convolution("x", "y", 1, 1, 5, size=9, stride=0), "must be 1 or more"),
        (lambda: Biaffine("y", "h", "m", 0), "its size must be 1 or more"),
        (lambda: Linear("x", "h", torch.relu, (3,)), NOT_LINEAR),
        (lambda: Linear("x", "h", lambda x: x + 1, (3,)), NOT_LINEAR),
        (lambda: Linear("x", "h", with_a_bias_of_zero(), (3,)), "operator.bias makes .* affine"),
        (lambda: Linear("x", "h", lambda x: 2 * x, (3,), lambda h: h), "<y, A"),
        (lambda: Linear("x", "h", lambda x: x, (3,), lambda h: (1 + 1e-6) * h), "<y, A"),
        (lambda: Linear("x", "h", lambda x: x[:, :2], (3,), lambda h: h), "the adjoint makes"),
        (lambda: Linear("x", "h", torch.detach, (3,)), "cannot be derived; give it"),
        (lambda: Linear("x", "h", torch.sum, (3,)), r"must make \(batch, \.\.\.\)"),
    ],
)
def test_bad_arguments(make, what):
    with pytest.raises(ValueError, match=what):
        make()
