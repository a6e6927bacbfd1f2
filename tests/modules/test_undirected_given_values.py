"""Factor graphs refuse values, passes and parts that do not fit, and say which."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from fairseq_struct.errors import InputError
from fairseq_struct.modules.undirected import (
    Biaffine,
    Bilinear,
    Contraction,
    Convolution,
    FactorGraph,
    Linear,
    Variable,
)
from fairseq_struct.modules.undirected.factors import Factor
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.undirected.regularisers import Identity
from fairseq_struct.modules.undirected.tree_marginals import TreeMarginals

ORDER = "h", "y"


def graph_of(**changed) -> FactorGraph:
    torch.manual_seed(1)
    variables = {"x": Variable("tanh"), "h": Variable("tanh", bias=(3,)), "y": Variable("softmax")}
    factors = {"xh": Bilinear("x", "h", 4, 3), "hy": Bilinear("h", "y", 3, 2)}
    return FactorGraph(variables | changed, factors).eval()


@pytest.mark.parametrize("verb", ["minimise", "converge"])
def test_given_values_that_are_not_finite_are_named(verb):
    given = torch.rand(4, 4)
    given[2, 3] = math.nan
    message = r"the given values of variable x are not finite \(instance 2\)"
    with pytest.raises(InputError, match=message):
        getattr(graph_of(), verb)({"x": given}, ORDER)


def test_trees_name_them_too():
    graph = FactorGraph(
        {"s": Variable("identity"), "y": Variable(TreeMarginals())},
        {"sy": Contraction(("s", "y"), "bij,bij")},
    ).eval()
    scores = torch.rand(2, 3, 3)
    scores[1, 0, 0] = math.nan
    support = {"y": (torch.tensor([3, 3]), None)}
    with pytest.raises(InputError, match=r"given values of variable s .*\(instance 1\)"):
        graph.minimise({"s": scores}, ("y",), supports=support)


def test_numbers_without_a_dimension_are_named_too():
    graph = FactorGraph(
        {"x": Variable("identity"), "y": Variable("identity")},
        {"xy": Contraction(("x", "y"), "b,b")},
    ).eval()
    with pytest.raises(InputError, match=r"given values of variable x .*\(instance 1\)"):
        graph.minimise({"x": torch.tensor([1.0, math.nan])}, ("y",))


def test_a_minimisation_that_diverges_still_says_so():
    """Two vectors that drive each other on."""
    graph = FactorGraph(
        {"x": Variable("identity"), "y": Variable("identity")}, {"xy": Bilinear("x", "y", 1, 1)}
    ).eval()
    torch.nn.init.constant_(graph.factors["xy"].weight, 1e9)
    with pytest.raises(InputError, match="no lower bound"):
        graph.minimise({}, ("y", "x"), 10, start={"x": torch.ones(1, 1)})


@pytest.mark.parametrize("rows", [1, 10])
def test_batches_of_different_size(rows):
    given = {"x": torch.rand(5, 4), "y": torch.full((rows, 2), 0.5)}
    with pytest.raises(ValueError, match=f"not 5 of x, {rows} of y"):
        graph_of().minimise(given, ("h",))
    for verb in (graph_of().energy, partial(graph_of().field, "x")):
        with pytest.raises(ValueError, match=f"not 5 of x, {rows} of y, 5 of h"):
            verb({**given, "h": torch.zeros(5, 3)})


@pytest.mark.parametrize("passes", [0, 2.5, True, "converge", "3"])
def test_passes_that_are_no_number(passes):
    with pytest.raises(ValueError, match="a whole number, 1 or more, not"):
        graph_of().minimise({"x": torch.rand(1, 4)}, ORDER, passes)
    if passes != "converge":
        for where in ("training", "most", "test"):
            with pytest.raises(ValueError, match="whole number, 1 or more|are a number or"):
                Passes(**{where: passes})


class Summed(Identity):
    def gradient(self, t, support=None):
        return t.sum(-1)


class OneForAll(Factor):
    def message(self, name, values):
        return values[self.needs(name)[0]][:1, :2]


def test_shapes_of_the_users_parts():
    with pytest.raises(ValueError, match=r"of variable y makes \(4,\) of a pre-.* \(4, 2\)"):
        graph_of(y=Variable(Summed())).minimise({"x": torch.rand(4, 4)}, ORDER)
    graph = FactorGraph(
        {"x": Variable("tanh"), "y": Variable("tanh")}, {"xy": OneForAll(("x", "y"))}
    )
    with pytest.raises(ValueError, match="variable y send messages of 1 instances, not of 4"):
        graph.minimise({"x": torch.rand(4, 4)}, ("y",))


@pytest.mark.parametrize(
    ("indices", "weight", "its_indices"),
    [
        ("bii,bi", None, ""), ("b1,b1", None, ""), ("b...,b...", None, ""),
        ("bi,bj", torch.rand(2, 3, 4), "ij"), ("bi,bj", torch.rand(2, 2), "ii"),
    ],
)  # fmt: skip
def test_indices_that_are_none(indices, weight, its_indices):
    with pytest.raises(ValueError, match="different letters|has not indices"):
        Contraction(("x", "y"), indices, weight, its_indices)


def test_a_flattened_variable_has_as_many_numbers():
    with pytest.raises(ValueError, match=r"\(2, 3\) are not 7 numbers"):
        Bilinear("x", "y", 7, 2, shape=(2, 3))


@pytest.mark.parametrize(
    ("shapes", "factor", "message"),
    [
        ({"x": (4,), "y": (3,)}, Bilinear("x", "y", 5, 3), r"\(\.\.\., 5\), not \(4,\)"),
        ({"x": (5,), "y": (4,)}, Bilinear("x", "y", 5, 3), r"\(\.\.\., 3\), not \(4,\)"),
        ({"x": (4, 3)}, Bilinear("x", "y", 6, 3, shape=(2, 3)), r"\(\.\.\., 2, 3\), not \(4, 3\)"),
        ({"x": (2,)}, Linear("x", "y", nn.Linear(3, 4, False), (3,)), r"\(3\), not \(2,\)"),
        ({"y": (5, 4)}, Linear("x", "y", nn.Linear(3, 4, False), (3,)), r"\(4\), not \(5, 4\)"),
        ({"x": (3, None), "y": (5, 4)}, Contraction("xy", "bij,bij"), r"\(3, 4\), not \(5, 4\)"),
        ({"y": (4,)}, Contraction("xy", "bi,bj", torch.ones(2, 3), "ij"), r"\(3\), not \(4,\)"),
        ({"y": (None, 3)}, Convolution("x", "y", 1, 2, 3, 5), r"\(2, 3, 3\), not \(None, 3\)"),
        ({"x": (1, 4, 5)}, Convolution("x", "y", 1, 2, 3, 5), r"\(1, 5, 5\), not \(1, 4, 5\)"),
        ({"x": (4, 5)}, Biaffine("x", "y", "z", 3), r"\(4, 4\), not \(4, 5\)"),
        ({"z": (None, 2)}, Biaffine("x", "y", "z", 3), r"\(n, 3\), not \(None, 2\)"),
        ({"r": (2,)}, Biaffine("x", "y", "z", 3, root="r"), r"\(3\), not \(2,\)"),
    ],
)
def test_factors_and_the_shapes_of_their_variables(shapes, factor, message):
    variables = {name: Variable("identity", shape=shapes.get(name)) for name in factor.names}
    with pytest.raises(ValueError, match=f"factor f: variable . must have the shape {message}"):
        FactorGraph(variables, {"f": factor})


def test_shapes_that_fit():
    for shapes, factor in (
        ({"x": (None, 5), "y": (7, 3)}, Bilinear("x", "y", 5, 3)),
        ({"x": (4, 2, 3), "y": (4, 3)}, Bilinear("x", "y", 6, 3, shape=(2, 3))),
        ({"x": (3, None), "y": (None, 4)}, Contraction("xy", "bij,bij")),
        ({"x": (2, 7, 7), "y": (3, 3, 3)}, Convolution("x", "y", 2, 3, 3, 7, stride=2)),
        ({"x": (None, None), "y": (4, 3)}, Biaffine("x", "y", "z", 3)),
    ):
        variables = {name: Variable("identity", shape=shapes.get(name)) for name in factor.names}
        FactorGraph(variables, {"f": factor})
