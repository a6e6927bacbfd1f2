"""The candidates of all slots of one step, with a hand-written backward pass."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.ordered_memory.cell import GatedRecursiveCell
from fairseq_struct.modules.packed_product import PackedProduct


class Masks(NamedTuple):
    """Dropout masks of one step, already divided by the probability of keeping.

    Args:
        vertical, horizontal: (slots, batch, D) of the cell's inputs.
        hidden: (slots, batch, 4 D) of its hidden layer.
    """

    vertical: Tensor
    horizontal: Tensor
    hidden: Tensor


def is_plain(cell: GatedRecursiveCell) -> bool:
    """Whether :class:`ComposeSlots` computes what a cell does.

    It reads the cell's parameters and calls none of its layers, so other layers in their place,
    adapters and hooks, such as those of pruning, would have no effect.
    """
    kinds = {
        cell: GatedRecursiveCell, cell.hidden: nn.Linear, cell.gates: nn.Linear,
        cell.norm: nn.LayerNorm, cell.dropout: nn.Dropout,
    }  # fmt: skip
    return all(
        type(part) is kind and not has_hooks(part) and None not in part._parameters.values()
        for part, kind in kinds.items()
    )


def has_hooks(module: nn.Module) -> bool:
    """Whether something is registered on a module that is called when the module is."""
    return any(
        (
            module._forward_hooks, module._forward_pre_hooks, module._backward_hooks,
            module._backward_pre_hooks,
        )
    )  # fmt: skip


class CellProducts:
    """The products of a cell, prepared once for all steps of a sequence.

    Args:
        cell: the cell.
        rows: expected rows of a product with one slot, the batch.
        dtype: of the computation.
    """

    def __init__(self, cell: GatedRecursiveCell, rows: int, dtype: torch.dtype):
        self.rows, self.probability = rows, cell.dropout.p if cell.training else 0.0
        self.epsilon, self.shape = cell.norm.eps, cell.norm.normalized_shape
        hidden = cell.hidden.weight.detach().to(dtype)
        self._vertical, self._horizontal = hidden.split(cell.size, 1)
        self._gates = cell.gates.weight.detach().to(dtype)
        self.horizontal_weight = self._horizontal.t()

    @cached_property
    def vertical(self) -> Callable:
        """Maps the slot below to its part of the hidden layer."""
        return PackedProduct(self._vertical.contiguous(), self.rows)

    @cached_property
    def gates(self) -> Callable:
        """Maps the hidden layer to the gates and the candidate."""
        return PackedProduct(self._gates, self.rows)

    @cached_property
    def vertical_back(self) -> Callable:
        """Maps the gradient of what ``vertical`` gives to that of its input."""
        return PackedProduct(self._vertical.t().contiguous(), self.rows)

    @cached_property
    def gates_back(self) -> Callable:
        """Maps the gradient of what ``gates`` gives to that of its input."""
        return PackedProduct(self._gates.t().contiguous(), self.rows)

    def masks(self, like: Tensor) -> Masks | None:
        """Draw the dropout masks of a step for ``like`` (slots, batch, D); None without dropout."""
        if not self.probability:
            return None
        keep = 1 - self.probability
        slots, batch, size = like.shape
        drawn = like.new_empty(slots, batch, 6 * size).bernoulli_(keep)
        drawn.div_(keep or 1.0)  # nothing is kept at a probability of 1, as in torch
        return Masks(*drawn.split([size, size, 4 * size], 2))


class ComposeSlots(torch.autograd.Function):
    """M-hat^i = x~ (1 - pi->^i) + o^i pi->^i, with o^i = cell(M-hat^{i-1}, M^i), for every slot.

    These are lines 11 and 12 of algorithm 2 of Shen's thesis. Only the products with M-hat^{i-1}
    run slot by slot, forward and backward; all others are one product for all slots.

    Raises:
        RuntimeError: gradients are to be differentiated (``create_graph``).
    """

    @staticmethod
    def forward(
        context, words: Tensor, memory: Tensor, mass: Tensor, hidden_weight: Tensor,
        hidden_bias: Tensor, gates_weight: Tensor, gates_bias: Tensor, gain: Tensor, shift: Tensor,
        products: CellProducts, masks: Masks | None,
    ):  # fmt: skip
        """M-hat, (slots, batch, D).

        Args:
            words: (batch, D) x~, which is also M-hat^0.
            memory: (slots, batch, D) M.
            mass: (slots, batch, 1) pi->.
            hidden_weight, hidden_bias, gates_weight, gates_bias: W_1, b_1, W_2, b_2 of the cell.
            gain, shift: of its layer normalisation.
            products, masks: for this cell and this step.
        """
        size = words.size(1)
        given = memory if masks is None else memory * masks.horizontal
        hidden = (given @ products.horizontal_weight).add_(hidden_bias)
        gates, sums, outputs, candidates = (
            memory.new_empty(*memory.shape[:2], width) for width in (4 * size, size, size, size)
        )
        means, deviations = [], []
        below = words
        for slot, own in enumerate(hidden):
            vertical = below if masks is None else below * masks.vertical[slot]
            own.add_(products.vertical(vertical)).relu_()
            if masks is not None:
                own.mul_(masks.hidden[slot])
            gate = gates[slot]
            gate.copy_(products.gates(own, gates_bias))
            gate[:, : 3 * size].sigmoid_()
            v, h, c, u = gate.split(size, 1)
            torch.mul(v, below, out=sums[slot]).addcmul_(h, memory[slot]).addcmul_(c, u)
            output, mean, deviation = torch.native_layer_norm(
                sums[slot], products.shape, gain, shift, products.epsilon
            )
            outputs[slot] = output
            means.append(mean)
            deviations.append(deviation)
            below = torch.lerp(words, output, mass[slot], out=candidates[slot])
        context.save_for_backward(
            words, memory, mass, hidden, gates, sums, outputs, candidates, gain, shift,
            torch.stack(means), torch.stack(deviations),
            # Saved only so that torch notices a change before the backward pass, which reads them
            # from ``products``.
            hidden_weight, gates_weight,
        )  # fmt: skip
        context.products, context.masks = products, masks
        return candidates

    @staticmethod
    def backward(context, by_candidates: Tensor):
        if torch.is_grad_enabled():
            raise RuntimeError("second-order gradients need OrderedMemory(..., fused=False)")
        (
            words, memory, mass, hidden, gates, sums, outputs, candidates, gain, shift, means,
            deviations, *_,
        ) = context.saved_tensors  # fmt: skip
        products, masks = context.products, context.masks
        size = words.size(1)
        below = torch.cat([words[None], candidates[:-1]])
        # Factors between the gradients of the sums and of [v; h; c; u] before the sigmoids.
        factors = gates.clone()
        factors[..., : 3 * size].mul_(1 - gates[..., : 3 * size])
        for part, other in enumerate((below, memory, gates[..., 3 * size :])):
            factors[..., part * size : (part + 1) * size].mul_(other)
        factors[..., 3 * size :] = gates[..., 2 * size : 3 * size]
        by_each = by_candidates.clone(memory_format=torch.contiguous_format)
        by_output, by_sums = torch.empty_like(sums), torch.empty_like(sums)
        by_gates, by_hidden = torch.empty_like(gates), torch.empty_like(hidden)
        by_words = torch.zeros_like(words)
        for slot in reversed(range(len(memory))):
            torch.mul(by_each[slot], mass[slot], out=by_output[slot])
            by_sum = torch.ops.aten.native_layer_norm_backward(
                by_output[slot], sums[slot], products.shape, means[slot], deviations[slot], gain,
                shift, [True, False, False],
            )[0]  # fmt: skip
            by_sums[slot] = by_sum
            views = (tensor[slot].unflatten(1, (4, size)) for tensor in (factors, by_gates))
            factor, by_gate = views
            torch.mul(factor, by_sum[:, None], out=by_gate)
            back = products.gates_back(by_gates[slot])
            if masks is not None:
                back = back * masks.hidden[slot]
            by_hidden[slot] = torch.ops.aten.threshold_backward(back, hidden[slot], 0)
            by_below = products.vertical_back(by_hidden[slot])
            if masks is not None:
                by_below = by_below * masks.vertical[slot]
            target = by_each[slot - 1] if slot else by_words
            target.add_(by_below).addcmul_(by_sum, gates[slot, :, :size])
        by_memory = by_hidden @ products.horizontal_weight.t()
        vertical, horizontal = below, memory
        if masks is not None:
            by_memory.mul_(masks.horizontal)
            vertical, horizontal = below * masks.vertical, memory * masks.horizontal
        by_memory.addcmul_(by_sums, gates[..., size : 2 * size])
        by_words += torch.linalg.vecdot(by_each, 1 - mass, dim=0)
        by_mass = torch.linalg.vecdot(by_each, outputs - words)[..., None]
        rows, by_gate_rows = by_hidden.flatten(0, 1), by_gates.flatten(0, 1)
        inputs = torch.cat([vertical, horizontal], 2).flatten(0, 1)
        by_gain, by_shift = torch.ops.aten.native_layer_norm_backward(
            by_output, sums, products.shape, means, deviations, gain, shift, [False, True, True]
        )[1:]
        return (
            by_words, by_memory, by_mass, rows.t() @ inputs, rows.sum(0),
            by_gate_rows.t() @ hidden.flatten(0, 1), by_gate_rows.sum(0), by_gain, by_shift,
            None, None,
        )  # fmt: skip
