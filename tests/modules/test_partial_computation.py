"""Computation once, and at some positions only, against the full computation."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.scheduled_sampling.partial_computation import (
    computed_once,
    forward_replaced,
    only_at,
)


class Counting(nn.Linear):
    """A linear map that counts its calls."""

    calls = 0

    def forward(self, given):
        self.calls += 1
        return super().forward(given)


def test_one_input_is_computed_once_and_gradients_are_those_of_two_computations():
    torch.manual_seed(1)
    layer, given, other = Counting(3, 2), torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)

    def objective():
        with torch.no_grad():
            first = 2 * layer(given)
        assert not first.requires_grad
        return first, (layer(given).square() + layer(given)).sum()

    expected, loss = objective()
    wanted = torch.autograd.grad(loss, [given, *layer.parameters()])
    layer.calls = 0
    with computed_once([layer]):
        first, loss = objective()
        assert layer.calls == 1
        assert torch.equal(layer(other), nn.functional.linear(other, layer.weight, layer.bias))
        assert layer.calls == 2
    assert torch.equal(first, expected)
    got = torch.autograd.grad(loss, [given, *layer.parameters()])
    torch.testing.assert_close(got, wanted)
    layer(other), layer(other)
    assert layer.calls == 4  # nothing is remembered once the context is closed


def test_only_at_some_positions():
    torch.manual_seed(1)
    first, last = Counting(3, 5), Counting(5, 3)
    given = torch.randn(4, 2, 3)  # (length, batch, dim)
    whole = last(first(given).relu())
    rows, columns = torch.tensor([0, 1, 1]), torch.tensor([2, 0, 3])
    with only_at(first, last, rows, columns):
        part = last(first(given).relu())
    expected = torch.zeros_like(whole)
    for row, column in zip(rows, columns, strict=True):
        expected[column, row] = whole[column, row]
    torch.testing.assert_close(part, expected)
    assert torch.equal(last(first(given).relu()), whole)


def test_modules_are_themselves_again_after_an_error_and_inside_one_another():
    layer = nn.Linear(2, 2)
    given = torch.ones(1, 2)
    expected = layer(given)
    with pytest.raises(RuntimeError, match="stop"), forward_replaced(layer, torch.neg):
        assert torch.equal(layer(given), -given)
        with forward_replaced(layer, torch.exp):
            assert torch.equal(layer(given), given.exp())
        assert torch.equal(layer(given), -given)
        raise RuntimeError("stop")
    assert "forward" not in vars(layer)
    assert torch.equal(layer(given), expected)
