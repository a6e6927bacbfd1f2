"""Fused steps of Ordered Memory where its cell is not as it was made, or changes meanwhile."""

import pytest
import torch
from torch import nn
from torch.ao.quantization import quantize_dynamic
from torch.nn.utils import parametrizations, prune

from fairseq_struct.modules.ordered_memory import GatedRecursiveCell, OrderedMemory


def memory(fused=True):
    torch.manual_seed(2)
    return OrderedMemory(3, 4, 3, fused=fused)


def words():
    return torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(1))


class Averaging(GatedRecursiveCell):
    def forward(self, vertical, horizontal):
        return self.norm(vertical + horizontal)


class Adapted(nn.Linear):
    def __init__(self, layer):
        super().__init__(layer.in_features, layer.out_features)
        self.load_state_dict(layer.state_dict())
        self.added = nn.Linear(layer.in_features, layer.out_features)

    def forward(self, given):
        return super().forward(given) + self.added(given)


def with_other_cell(made):
    made.cell = Averaging(4)


def with_adapter(made):
    made.cell.hidden = Adapted(made.cell.hidden)


def with_hook(made):
    made.cell.register_forward_hook(lambda cell, given, output: 2 * output)


def with_hook_of_a_layer(made):
    made.cell.gates.register_forward_pre_hook(lambda layer, given: (given[0] + 1,))


def pruned(made):
    prune.l1_unstructured(made.cell.hidden, "weight", amount=0.5)


def parametrised(made):
    parametrizations.weight_norm(made.cell.gates)
    made.cell.gates.parametrizations.weight.original0.data.mul_(2)


def without_bias(made):
    made.cell.gates.bias = None


CHANGES = [
    with_other_cell, with_adapter, with_hook, with_hook_of_a_layer, pruned, parametrised,
    without_bias,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_takes_the_place_of_the_cell_has_its_effect(change):
    outputs, gradients = [], []
    for fused in (True, False):
        made = memory(fused)
        torch.manual_seed(3)
        change(made)
        for _ in range(2):  # pruning computes the weight anew in every call
            made.zero_grad()
            found = made(words()).last
            found.sum().backward()
        outputs.append(found)
        gradients.append([parameter.grad for parameter in made.parameters()])
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(*gradients)
    assert not torch.allclose(outputs[0], memory()(words()).last)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_quantized_layers_are_called():
    plain = memory().eval()
    found = quantize_dynamic(plain, {nn.Linear})(words()).last
    torch.testing.assert_close(found, plain(words()).last, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("layer", ["hidden", "gates"])
def test_weights_that_change_before_the_backward_pass_are_noticed(layer, fused):
    made = memory(fused)
    loss = made(words()).last.sum()
    with torch.no_grad():
        getattr(made.cell, layer).weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
