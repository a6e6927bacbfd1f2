"""Regularisers of undirected networks: activations, conjugates, and what joins them."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from fairseq_struct.modules.undirected import (
    REGULARISERS,
    Sigmoid,
    Softmax,
    Sparsemax,
    Tanh,
    TreeMarginals,
    TreeSupport,
    Variable,
)
from fairseq_struct.structure.dependency import DependencyTrees

SCALED = {"scaled softmax": Softmax(2.5), "scaled sparsemax": Sparsemax(0.3)}
EVERY = {**{name: kind() for name, kind in REGULARISERS.items()}, **SCALED}
TREES = [TreeMarginals(), TreeMarginals(single_root=True), TreeMarginals(projective=True)]


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(11)


def fields(generator, *shape: int) -> Tensor:
    return 2 * torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", EVERY)
def test_fenchel_young(name, generator):
    one, t = EVERY[name], fields(generator, 4, 3, 5)
    h = one.gradient(t)
    torch.testing.assert_close(one.value(h) + one.conjugate(t), (h * t).sum((1, 2)))
    for support in (t > 0, (t > 0)[:, :, :1]):  # rows may have no support at all
        h = one.gradient(t, support)
        assert (h.masked_fill(support, 0.0) == 0).all()
        found = one.value(h, support) + one.conjugate(t, support)
        torch.testing.assert_close(found, (h * t).sum((1, 2)))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_energies_of_half_precision_are_computed_in_float32(name, dtype, generator):
    one, t = EVERY[name], (100 * fields(generator, 2, 200)).to(dtype)
    h = one.gradient(t)
    for found, expected in (
        (one.conjugate(t), one.conjugate(t.float())), (one.value(h), one.value(h.float()))
    ):  # fmt: skip
        assert found.dtype == torch.float32 and found.isfinite().all()
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", EVERY)
def test_energies_have_gradients_where_values_are_at_their_limits(name):
    one = EVERY[name]
    t = torch.tensor([[200.0, 0.0, -200.0]], requires_grad=True)
    for energy in (one.value(one.gradient(t)), one.conjugate(t)):
        (gradient,) = torch.autograd.grad(energy.sum(), t)
        assert energy.isfinite().all() and gradient.isfinite().all()
    (gradient,) = torch.autograd.grad(one.conjugate(t).sum(), t)
    torch.testing.assert_close(gradient, one.gradient(t.detach()))


@pytest.mark.parametrize("name", EVERY)
def test_no_other_value_is_better(name, generator):
    """<t, h> - Psi(h) is largest at grad Psi*(t)."""
    one, t = EVERY[name], fields(generator, 1, 6)
    best = one.conjugate(t)
    for _ in range(50):
        other = one.gradient(fields(generator, 1, 6))
        assert ((t * other).sum(1) - one.value(other) <= best + 1e-12).all()


@pytest.mark.parametrize("name", EVERY)
def test_the_gradient_of_the_conjugate(name, generator):
    one = EVERY[name]
    t = fields(generator, 2, 6).requires_grad_()
    (found,) = torch.autograd.grad(one.conjugate(t).sum(), t)
    if isinstance(one, (Sigmoid, Tanh)):  # others are computed from the activation
        torch.testing.assert_close(found, one.gradient(t))
    step, every = 1e-6, torch.eye(6, dtype=torch.float64)
    with torch.no_grad():
        steps = [(one.conjugate(t + step * e) - one.conjugate(t - step * e)) / 2 for e in every]
    torch.testing.assert_close(torch.stack(steps, 1) / step, one.gradient(t), atol=1e-6, rtol=1e-6)
    assert gradcheck(lambda x: one.gradient(x, x.detach() > -1), t)


def test_values_by_hand():
    half = torch.full((1, 2), 0.5, dtype=torch.float64)
    log2 = math.log(2)
    expected = {
        "identity": 0.25, "relu": 0.25, "sigmoid": -2 * log2, "softmax": -log2,
        "sparsemax": 0.25, "tanh": 2 * (0.75 * math.log(0.75) + 0.25 * math.log(0.25)),
    }  # fmt: skip
    for name, value in expected.items():
        torch.testing.assert_close(EVERY[name].value(half), torch.tensor([value]).double())


@pytest.mark.parametrize(
    ("name", "outside"),
    [
        ("relu", [-0.5, 1.0]),
        ("sigmoid", [0.5, 1.5]),
        ("tanh", [0.0, -1.5]),
        ("softmax", [0.5, 0.6]),
        ("softmax", [1.5, -0.5]),
        ("sparsemax", [0.2, 0.2]),
    ],
)
def test_infinite_outside_of_the_domain(name, outside):
    assert EVERY[name].value(torch.tensor([outside])).tolist() == [math.inf]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("one", [Softmax(), Sparsemax()])
def test_rounded_distributions_are_inside_of_the_domain(one, dtype, generator):
    h = one.gradient(fields(generator, 40, 30, 25).to(dtype))
    assert one.value(h).isfinite().all()
    assert one.value(1.05 * h).isinf().all()


def test_rows_without_support_are_zero(generator):
    t = fields(generator, 1, 2, 3)
    support = torch.tensor([[[True, False, True], [False] * 3]])
    for one in (Softmax(), Sparsemax()):
        h = one.gradient(t, support)
        assert h[0, 1].tolist() == [0.0] * 3 and h[0, 0, 1] == 0
        torch.testing.assert_close(h[0, 0].sum(), torch.tensor(1.0).double())
        assert one.value(h, support).isfinite().all()
        assert one.value(torch.full_like(h, 1 / 3), support).isinf().all()


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_structured_entropy_against_enumeration(trees, n, generator):
    t = fields(generator, 2, n, n)
    support = TreeSupport(torch.tensor([n, max(n - 1, 1)]))
    marginals = trees.gradient(t, support)
    found = trees.value(marginals, support)
    distribution = DependencyTrees(t, support.lengths, trees.projective, trees.single_root)
    for row, every in enumerate(distribution.enumerate()):
        own = len(every[0])
        scores = torch.stack([
            sum(t[row, m if head == 0 else head - 1, m] for m, head in enumerate(one))
            for one in every.tolist()
        ])  # fmt: skip
        p = scores.softmax(0)
        torch.testing.assert_close(found[row], (p * p.log()).sum(), atol=1e-8, rtol=1e-8)
        torch.testing.assert_close(trees.conjugate(t, support)[row], scores.logsumexp(0))
        assert marginals[row, :own, :own].sum(0).allclose(torch.ones(own).double())


def test_fenchel_young_of_trees(generator):
    trees, t = TreeMarginals(), fields(generator, 2, 5, 5)
    allowed = torch.ones(2, 5, 5, dtype=torch.bool)
    allowed[0, :, 2] = False
    allowed[0, 4, 2] = True  # word 3 has word 5 as its head
    support = TreeSupport(torch.tensor([5, 4]), allowed)
    h = trees.gradient(t, support)
    torch.testing.assert_close(h[0, :, 2], torch.eye(5).double()[4])
    assert h[1, 4].abs().max() == h[1, :, 4].abs().max() == 0
    found = trees.value(h, support) + trees.conjugate(t, support)
    torch.testing.assert_close(found, (h * t).sum((1, 2)))


def test_one_tree_has_no_entropy():
    t = torch.full((1, 3, 3), -torch.inf).double()
    t[0, 0, 0] = t[0, 0, 1] = t[0, 1, 2] = 0.0
    trees = TreeMarginals()
    assert trees.value(trees.gradient(t)).tolist() == [0.0]


def test_bad_regularisers():
    with pytest.raises(ValueError, match="scale"):
        Softmax(0.0)
    with pytest.raises(ValueError, match="choose one of identity, relu"):
        Variable("swish")
    with pytest.raises(ValueError, match="dropout"):
        Variable("relu", dropout=1.0)
