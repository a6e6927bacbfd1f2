"""Updates of undirected networks against a solver, gradients through them, shapes, divergence."""

import pytest
import torch
from factor_graphs import GRAPHS, chain, drawn
from torch import nn
from torch.autograd import gradcheck

from fairseq_struct.errors import InputError
from fairseq_struct.modules.undirected import CONVERGE, Passes, TreeMarginals, Variable
from fairseq_struct.modules.undirected.mlp import UndirectedMLP
from fairseq_struct.modules.undirected.parser import ROOT_HEADS, UndirectedParser


def lowest(energy, start):
    """Where a function of numbers like ``start`` is lowest, by L-BFGS."""
    t = start.clone().requires_grad_()
    solver = torch.optim.LBFGS(
        [t], 1, 400, tolerance_grad=1e-10, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss():
        solver.zero_grad()
        found = energy(t).sum()
        found.backward(inputs=[t])
        return found

    solver.step(loss)
    return t.detach()


NAMED = [(kind, name) for kind, (_, shapes) in GRAPHS.items() for name in shapes]


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_a_solver_finds_the_value_of_an_update(kind, name):
    make, shapes = GRAPHS[kind]
    graph = make()
    values = drawn(graph, shapes)
    regulariser = graph.variables[name].regulariser
    field = graph.field(name, values).detach()

    def energy(t):
        if not isinstance(regulariser, TreeMarginals):
            return graph.energy({**values, name: regulariser.gradient(t)})
        # Psi of marginals is known by the scores they are of; the rest is linear in them.
        marginals = regulariser.gradient(t)
        return ((t - field) * marginals).sum((1, 2)) - regulariser.conjugate(t)

    found = regulariser.gradient(lowest(energy, torch.full_like(field, 0.3)))
    updated = graph.descent({}, (name,), values).update(name)
    torch.testing.assert_close(found, updated.detach(), rtol=0, atol=1e-6)


class Vectors(nn.Module):
    """An encoder of given vectors."""

    size = 3

    def forward(self, tokens, lengths):
        return tokens


@pytest.mark.parametrize("root_head", ROOT_HEADS)
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
def test_gradients_through_several_passes_of_the_parser(order, single, root_head):
    torch.manual_seed(5)
    made = UndirectedParser(
        Vectors(), 3, dropout=0.0, passes=Passes(3), order=order, single_root=single,
        root_head=root_head,
    ).double()  # fmt: skip
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    words = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    lengths, heads = torch.tensor([3, 2]), torch.tensor([[0, 1, 1], [2, 0, 0]])

    def losses(words, *weights):
        return made(words, lengths).trees.log_prob(heads)

    assert gradcheck(losses, (words, *made.parameters()))


def test_a_perceptron_learns_a_toy_set():
    """Which of four quarters of an image is bright; and how such an image looks."""
    torch.manual_seed(1)
    labels = torch.arange(4).repeat(16)
    bright = torch.zeros(4, 1, 6, 6)
    for label in range(4):
        bright[label, :, 3 * (label // 2) :, 3 * (label % 2) :][:, :3, :3] = 1
    images = (1.6 * bright[labels] - 0.8 + 0.4 * torch.randn(64, 1, 6, 6)).clamp(-1, 1)
    made = UndirectedMLP((1, 6, 6), 4, (16,), Passes(2, test=2), gamma=0.1)
    solver = torch.optim.Adam(made.parameters(), 0.02)
    first = made(images, labels).losses.mean()
    for _ in range(60):
        solver.zero_grad()
        loss = made(images, labels).losses.mean()
        loss.backward()
        solver.step()
    assert loss < first / 4
    made.eval()
    assert (made(images).logits.argmax(1) == labels).all()
    assert torch.equal(made.prototypes(torch.arange(4)) > 0, bright > 0)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Variable("tanh", (3,), shape=(4,)), r"a bias of shape \(3,\) does not fit"),
        (lambda: Variable("tanh", (2, 4), shape=(4,)), "does not fit a variable of shape"),
        (lambda: Variable("tanh", (3, 4), shape=(None, 4)), "does not fit a variable of shape"),
    ],
)
def test_biases_of_other_shapes(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_values_of_other_shapes():
    graph = chain()
    for variable, size in (("x", 3), ("h", 4), ("y", 2)):
        graph.variables[variable].shape = (size,)
    given = drawn(graph, GRAPHS["chain"][1])
    assert graph.minimise({"x": given["x"]}, "hy")["y"].shape == (2, 2)
    for call in (
        lambda x: graph.minimise({"x": x}, "hy"),
        lambda x: graph.minimise({"y": given["y"]}, "hx", start={"x": x}),
        lambda x: graph.field("h", {"x": x}),
        lambda x: graph.energy({**given, "x": x}),
    ):
        with pytest.raises(ValueError, match=r"x must have shape \(batch, 3\), not \(2, 5\)"):
            call(torch.ones(2, 5))
    graph.variables["h"].shape = (None, 4)  # of rows, but there are none
    with pytest.raises(ValueError, match=r"h must have shape \(batch, any, 4\), not \(2, 4\)"):
        graph.minimise({"x": given["x"]}, "hy")


def test_converge_needs_a_beginning():
    with pytest.raises(ValueError, match="nothing is observed, and no variable has a start"):
        chain().converge({}, "xhy")


@pytest.mark.parametrize("passes", [60, CONVERGE])
def test_values_that_diverge_are_an_error(passes):
    """But not in training, where the loss tells."""
    torch.manual_seed(1)
    made = UndirectedMLP((1, 4, 4), 3, (8, 8), Passes(60, test=passes, most=60), activation="relu")
    for weight in made.parameters():
        weight.data.mul_(30)
    images = torch.ones(2, 1, 4, 4)
    assert not made(images).logits.isfinite().all()
    with pytest.raises(InputError, match="values of variable H1 are not finite: .* fewer passes"):
        made.eval()(images)
