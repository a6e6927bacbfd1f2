"""Masks of what recurrent independent mechanisms read in each step."""

import pytest
import torch

from fairseq_struct.modules.recurrent_mechanisms import RecurrentMechanisms


def layer_of(units: int) -> RecurrentMechanisms:
    torch.manual_seed(1)
    return RecurrentMechanisms(units, 2, 4, 5, 3).double()


@pytest.mark.parametrize("batch", [2, 3])
def test_a_mask_of_steps_is_that_of_sets_of_one_element(batch):
    """With three sentences, as many as units, too."""
    layer, inputs = layer_of(3), torch.randn(batch, 6, 4).double()
    mask = torch.arange(6) < torch.tensor([6, 2, 4])[:batch, None]
    states, ends = layer(inputs, mask)
    expected, _ = layer(inputs[:, :, None], mask[:, :, None])
    assert torch.equal(states, expected)
    alone, _ = layer(inputs[:1], mask[:1])
    torch.testing.assert_close(states[:1], alone)


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_elements_outside_of_the_mask_do_not_matter(kind, wrong):
    layer = layer_of(3)
    layer.input_weights = kind
    inputs, mask = torch.randn(2, 4, 3, 4).double(), torch.rand(2, 4, 3) < 0.5
    found = []
    for value in (1.0, wrong):
        given = inputs.masked_fill(~mask[..., None], value).requires_grad_()
        states, _ = layer(given, mask)
        found.append((states, *torch.autograd.grad(states.sum(), [given, *layer.parameters()])))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize(
    ("inputs", "mask", "message"),
    [
        (torch.ones(2, 0, 4), None, "of a step or more, not of the shape (2, 0, 4)"),
        (torch.ones(2, 6, 3), None, "not of the shape (2, 6, 3)"),
        (torch.ones(2, 4), None, "not of the shape (2, 4)"),
        (torch.ones(2, 6, 4), torch.ones(6, 2).bool(), "not torch.bool of the shape (6, 2)"),
        (torch.ones(2, 6, 3, 4), torch.ones(2, 6).bool(), "booleans of the shape (2, 6, 3)"),
        (torch.ones(2, 6, 4), torch.ones(2, 6), "not torch.float32 of the shape (2, 6)"),
    ],
)
def test_other_shapes_are_refused(inputs, mask, message):
    with pytest.raises(ValueError) as error:
        layer_of(3)(inputs.double(), mask)
    assert message in str(error.value)
