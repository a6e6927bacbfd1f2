"""Factor graphs of undirected networks: energies, updates, orders and convergence."""

import pytest
import torch
from factor_graphs import GRAPHS, chain, drawn, parser, randomised
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from fairseq_struct.modules.undirected import (
    Bilinear,
    Contraction,
    FactorGraph,
    RandomOrder,
    TreeMarginals,
    TreeSupport,
    Variable,
    drawn_passes,
    forward_backward,
    simultaneous,
)

KINDS = ("identity", "relu", "sigmoid", "tanh", "softmax", "sparsemax")
NAMED = [(kind, name) for kind, (_, shapes) in GRAPHS.items() for name in shapes]


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_an_update_minimises_the_energy(kind, name):
    """No other value of the variable has less energy: not a random one, not a step along a path."""
    make, shapes = GRAPHS[kind]
    graph = make()
    values = drawn(graph, shapes)
    descent = graph.descent({}, (name,), values)
    descent.run((name,))
    best = graph.energy(descent.values)
    generator = torch.Generator().manual_seed(3)
    field = graph.field(name, values)
    for size in (1e-3, 0.1, 1.0):
        nudge = size * torch.randn(field.shape, generator=generator, dtype=torch.float64)
        other = graph.variables[name].regulariser.gradient(field + nudge)
        assert (graph.energy({**values, name: other}) >= best - 1e-9).all()


@pytest.mark.parametrize("kind", GRAPHS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_energy_never_increases(kind, data):
    make, shapes = GRAPHS[kind]
    graph, names = make(), list(shapes)
    values = drawn(graph, shapes)
    observed = data.draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))
    hidden = [name for name in names if name not in observed]
    order = data.draw(st.lists(st.sampled_from(hidden), min_size=1, max_size=6))
    order += [name for name in hidden if name not in order]
    start = {name: values[name] for name in hidden}
    descent = graph.descent({name: values[name] for name in observed}, order, start)
    energy = graph.energy(descent.values)
    for name in order:
        descent.run((name,))
        found = graph.energy(descent.values)
        assert (found <= energy + 1e-9 * (1 + energy.abs())).all()
        energy = found


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_energy_of_every_regulariser_never_increases(first, second):
    graph = chain(first, second)
    values = drawn(graph, GRAPHS["chain"][1])
    descent = graph.descent({}, "xhy", values)
    energies = [graph.energy(descent.values)]
    for name in 3 * forward_backward("xhy"):
        descent.run((name,))
        energies.append(graph.energy(descent.values))
    steps = torch.stack(energies).diff(dim=0)
    assert (steps <= 1e-9).all() and (steps < -1e-3).any()


def test_one_pass_from_zero_is_the_directed_network():
    """Lemma 1."""
    graph = chain()
    x = drawn(graph, {"x": (3,)})["x"]
    found = graph.minimise({"x": x}, ("h", "y"))
    h = torch.tanh(x @ graph.factors["xh"].weight.t() + graph.variables["h"].bias)
    y = (h @ graph.factors["hy"].weight.t() + graph.variables["y"].bias).softmax(-1)
    torch.testing.assert_close(found["y"], y, atol=1e-12, rtol=0)
    twice = graph.minimise({"x": x}, ("h", "y"), 2)
    again = x @ graph.factors["xh"].weight.t() + y @ graph.factors["hy"].weight
    again = torch.tanh(again + graph.variables["h"].bias)
    torch.testing.assert_close(twice["h"], again, atol=1e-12, rtol=0)
    explicit = graph.minimise({"x": x}, ("h", "y"), 2, start={"y": torch.zeros_like(y)})
    torch.testing.assert_close(explicit["y"], twice["y"], atol=1e-12, rtol=0)


def test_any_variable_from_any_other():
    graph = chain()
    values = drawn(graph, GRAPHS["chain"][1])
    found = graph.minimise({"y": values["y"]}, ("h", "x"), 3)
    assert found["x"].shape == values["x"].shape and found["y"] is values["y"]
    middle = graph.minimise({"x": values["x"], "y": values["y"]}, ("h",))["h"]
    torch.testing.assert_close(middle, graph.field("h", values).tanh())


def test_observed_terms_are_computed_once():
    graph, counts = chain(), {}
    for key, factor in graph.factors.items():

        def counting(name, values, key=key, plain=factor.message):
            counts[key, name] = counts.get((key, name), 0) + 1
            return plain(name, values)

        factor.message = counting
    graph.minimise(drawn(graph, {"x": (3,)}), ("h", "y"), 4)
    assert counts == {("xh", "h"): 1, ("hy", "y"): 4, ("hy", "h"): 3}


def test_a_group_is_updated_from_old_values():
    graph = chain()
    values = drawn(graph, GRAPHS["chain"][1])
    observed = {"x": values.pop("x")}
    found = graph.minimise(observed, [simultaneous("h", "y")], 1, start=values)
    both = {**observed, **values}
    torch.testing.assert_close(found["y"], graph.field("y", both).softmax(-1))
    torch.testing.assert_close(found["h"], graph.field("h", both).tanh())


def test_orders():
    assert forward_backward("abc") == ("a", "b", "c", "b", "a")
    draws = [RandomOrder("abcd", "z", torch.Generator().manual_seed(1))(i) for i in range(2)]
    order = RandomOrder("abcd", "z", torch.Generator().manual_seed(1))
    passes = [order(i) for i in range(20)]
    assert passes[0] == draws[0] == draws[1]
    assert all(sorted(one) == list("abcdz") and one[-1] == "z" for one in passes)
    assert len(set(passes)) > 10
    generator = torch.Generator().manual_seed(4)
    assert {drawn_passes(3, generator) for _ in range(60)} == {1, 2, 3}


def test_a_clamped_number_never_moves():
    graph = chain()
    values = drawn(graph, GRAPHS["chain"][1])
    known = torch.tensor([[True, False, True], [False, False, True]])
    start = {"x": values["x"]}
    found = graph.minimise(
        {"y": values["y"]}, ("h", "x"), 3, start=start, clamped={"x": known}
    )["x"]  # fmt: skip
    assert torch.equal(found[known], values["x"][known])
    assert not torch.isclose(found[~known], values["x"][~known]).any()


def test_supports_keep_padding_out():
    graph, words = parser(), torch.tensor([3, 2])
    values = drawn(graph, {"x": (3, 3)})
    inside = (torch.arange(3) < words[:, None])[..., None]
    supports = {"h": inside, "m": inside, "y": TreeSupport(words)}
    found = graph.minimise(values, "hmy", 3, supports=supports)
    short = {"x": values["x"][1:, :2]}
    alone = graph.minimise(short, "hmy", 3, supports={"y": TreeSupport(words[1:])})
    for name in "hm":
        torch.testing.assert_close(found[name][1:, :2], alone[name], atol=1e-12, rtol=0)
        assert (found[name][1, 2] == 0).all()
    torch.testing.assert_close(found["y"][1:, :2, :2], alone["y"], atol=1e-12, rtol=0)
    values["x"] = values["x"] * inside
    padded = graph.energy({**found, **values}, supports)
    torch.testing.assert_close(padded[1:], graph.energy({**short, **alone}))


def test_one_dropout_mask_serves_all_passes():
    graph = chain(first="identity", dropout=0.5).train()
    graph.variables["h"].bias.data += 10
    descent = graph.descent(drawn(graph, {"x": (3,)}, batch=8), ("h", "y"))
    descent.run("hy")
    first = descent.values["h"] == 0
    descent.run("hy")
    assert torch.equal(first, descent.values["h"] == 0) and 0 < first.sum() < first.numel()
    graph.eval()
    assert (graph.minimise(drawn(graph, {"x": (3,)}), ("h", "y"))["h"] != 0).all()


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_gradients_of_unrolled_passes(passes):
    graph = chain()
    x = drawn(graph, {"x": (3,)})["x"].requires_grad_()

    def of(x, *parameters):
        return graph.minimise({"x": x}, ("h", "y"), passes)["y"]

    assert gradcheck(of, (x, *graph.parameters()))


def test_converge():
    graph = chain()
    x = {"x": 3 * drawn(graph, {"x": (3,)}, batch=6)["x"]}
    loose = graph.converge(x, ("h", "y"), tolerance=1e6)
    assert loose.passes.tolist() == [1] * 6
    torch.testing.assert_close(loose.values["y"], graph.minimise(x, ("h", "y"))["y"])
    tight = graph.converge(x, ("h", "y"), tolerance=1e-9, most_passes=200)
    assert (tight.moved <= 1e-9).all() and tight.passes.max() < 200
    once_more = graph.minimise(x, ("h", "y"), start=dict(tight.values) | {"x": x["x"]})
    torch.testing.assert_close(once_more["y"], tight.values["y"], atol=1e-8, rtol=0)
    assert len(set(tight.passes.tolist())) > 1
    for row in range(6):
        alone = graph.converge({"x": x["x"][row : row + 1]}, ("h", "y"), 1e-9, 200)
        assert alone.passes[0] == tight.passes[row]
        torch.testing.assert_close(alone.values["y"][0], tight.values["y"][row])
    few = graph.converge(x, ("h", "y"), tolerance=1e-9, most_passes=2)
    assert few.passes.tolist() == [2] * 6 and (few.moved > 1e-9).all()


def test_converge_with_numbers_as_variables():
    graph = FactorGraph(
        {"a": Variable("tanh"), "b": Variable("tanh")}, {"ab": Contraction("ab", "b,b")}
    )
    a = torch.tensor([0.0, 1.0, 2.0])
    found = graph.converge({"a": a}, "b")
    assert found.passes.tolist() == [1, 2, 2]
    torch.testing.assert_close(found.values["b"], a.tanh())
    assert graph.converge({"a": a[:0]}, "b").passes.tolist() == []


def test_converge_with_a_support_of_several_tensors():
    graph, words = parser(), drawn(parser(), {"x": (3, 3)}, batch=4)
    lengths, some = torch.tensor([3, 2, 3, 1]), torch.ones(4, 3, 3, dtype=torch.bool)
    found = [
        graph.converge(words, "hmy", 1e-3, 50, supports={"y": support})
        for support in ((lengths, some), TreeSupport(lengths, some))
    ]
    assert len(set(found[0].passes.tolist())) > 1
    for own, other in zip(*(one.values.values() for one in found), strict=True):
        assert torch.equal(own, other)


def test_a_support_without_batch_serves_every_instance_left():
    graph = randomised(FactorGraph(
        {"a": Variable("tanh"), "b": Variable("tanh")}, {"ab": Bilinear("a", "b", 4, 4)}
    ))  # fmt: skip
    start = {"b": torch.diag(torch.tensor([0.0, 0.01, 1.0, 3.0])).double()}
    supports = {"b": torch.tensor([True, False, True, True])}
    found = graph.converge({}, "ab", 1e-12, 200, start=start, supports=supports)
    assert len(set(found.passes.tolist())) > 1
    for row in range(4):
        alone = {"b": start["b"][row : row + 1]}
        expected = graph.minimise({}, "ab", int(found.passes[row]), start=alone, supports=supports)
        torch.testing.assert_close(found.values["b"][row], expected["b"][0])


def minimise(graph=None, observed="x", order="hy", **options):
    graph = graph or chain()
    values = drawn(graph, {name: GRAPHS["chain"][1].get(name, (3,)) for name in observed})
    return graph.minimise(values, order, **options)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: FactorGraph({}, {}), "needs variables"),
        (
            lambda: FactorGraph({"x": Variable("relu")}, {"xh": Bilinear("x", "h", 1, 1)}),
            "factor xh: unknown variable 'h'",
        ),
        (lambda: FactorGraph({"type": Variable("relu")}, {}), "cannot be named 'type'"),
        (lambda: FactorGraph({"a.b": Variable("relu")}, {}), r"cannot be named 'a\.b'"),
        (lambda: minimise(order="hz"), "the order: unknown variable 'z'"),
        (lambda: minimise(order="h"), "leaves out y"),
        (lambda: minimise(order="hyx"), "updates x, which is observed"),
        (lambda: minimise(order=lambda number: "hyx"[: number + 2], passes=2), "updates x, which"),
        (lambda: minimise(order=lambda number: "hyz"[: number + 2], passes=2), "variable 'z'"),
        (lambda: minimise(order=(), observed="xhy"), "nothing is left to infer"),
        (lambda: minimise(order="yh"), "y is updated before its neighbours"),
        (lambda: minimise(passes=0), "passes"),
        (lambda: minimise(supports={"a": None}), "supports: unknown variable"),
        (lambda: minimise(clamped={"h": None}), "h is clamped, but has no start"),
        (lambda: chain().energy({"x": torch.ones(1, 3)}), "needs a value of h, y"),
        (lambda: chain().energy({}, updated=("q",)), "updated: unknown variable 'q'"),
        (lambda: chain().converge({"x": torch.ones(1, 3)}, "hy", 0.0), "tolerance"),
        (lambda: chain().field("z", {}), "unknown variable 'z'"),
    ],
)
def test_bad_arguments(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_distributions_need_values():
    graph = FactorGraph(
        {"a": Variable("identity"), "b": Variable("softmax")}, {"ab": Contraction("ab", "b,b")}
    )
    with pytest.raises(ValueError, match=r"a distribution needs \(batch, \.\.\., values\)"):
        graph.minimise({"a": torch.ones(2)}, "b")


def test_trees_need_square_scores():
    graph = FactorGraph(
        {"x": Variable("identity"), "y": Variable(TreeMarginals())},
        {"xy": Bilinear("x", "y", 3, 4)},
    )
    with pytest.raises(ValueError, match=r"variable y: trees need \(batch, n, n\)"):
        graph.minimise({"x": torch.ones(1, 3, 3)}, "y")
