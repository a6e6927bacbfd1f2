"""An ON-LSTM layer over a whole sequence on a CPU, with a hand-written backward pass."""

import numpy as np
import torch
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd

from fairseq_struct.modules.on_lstm.sequence_kernels import advance, retreat
from fairseq_struct.modules.packed_product import PackedProduct


class ONLSTMSequence(torch.autograd.Function):
    """h_1 .. h_T, c_T and d_1 .. d_T of :class:`.on_lstm.ONLSTMCell` with the same weights.

    One product serves for the inputs of all steps, and one each for the gradients of the weights.
    Between the products with the hidden states, compiled kernels run. There are no gradients of
    second order, and no gradients of d_t.

    Raises:
        RuntimeError: gradients are to be differentiated (``create_graph``).
    """

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(
        context, inputs: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor,
        hidden: Tensor, cell: Tensor, lengths: np.ndarray, chunk: int,
    ):  # fmt: skip
        """h (T, batch, D), c_T (batch, D) and d (T, batch).

        Args:
            inputs: (T, batch, inputs).
            weight_ih, weight_hh, bias: (2 D/C + 4 D, inputs), (2 D/C + 4 D, D), (2 D/C + 4 D,).
            hidden, cell: (batch, D) h_0 and c_0.
            lengths: (batch,) steps of each instance.
            chunk: C.
        """
        steps, batch, _ = inputs.shape
        size = hidden.size(1)
        masters = 2 * size // chunk
        rows = inputs.reshape(steps * batch, -1)
        gates = PackedProduct(weight_ih, len(rows))(rows, bias).view(steps, batch, -1)
        states, cells = inputs.new_empty(steps, batch, size), inputs.new_empty(steps, batch, size)
        distances, squashed = inputs.new_empty(steps, batch), torch.empty_like(cell)
        recurrent = PackedProduct(weight_hh, batch)
        at = [array.numpy() for array in (gates, cells, distances)]
        first, before = hidden, cell.contiguous().numpy()
        shortest = lengths.min(initial=steps)
        for t in range(steps):
            own = gates[t].add_(recurrent(hidden))
            own[:, masters : masters + 3 * size].sigmoid_()
            own[:, masters + 3 * size :].tanh_()
            advance(0, batch, t, lengths, chunk, at[0][t], before, at[1][t], at[2][t])
            torch.tanh(cells[t], out=squashed)
            torch.mul(own[:, masters + 2 * size : masters + 3 * size], squashed, out=states[t])
            if t >= shortest:
                ended = torch.from_numpy(t >= lengths)
                states[t, ended] = hidden[ended]
            hidden, before = states[t], at[1][t]
        context.save_for_backward(
            inputs, weight_ih, weight_hh, first, cell, gates, states, cells
        )
        context.lengths, context.chunk = lengths, chunk
        context.mark_non_differentiable(distances)
        return states, cells[-1].clone(), distances

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(context, by_states: Tensor, by_last: Tensor, _):
        if torch.is_grad_enabled():
            raise RuntimeError("second-order gradients need ONLSTM(..., fused=False)")
        inputs, weight_ih, weight_hh, hidden, cell, gates, states, cells = context.saved_tensors
        lengths, chunk = context.lengths, context.chunk
        steps, batch, size = states.shape
        by_gates = torch.empty_like(gates)
        by_cell = by_last.clone(memory_format=torch.contiguous_format)
        by_hidden, squashed = torch.zeros_like(by_cell), torch.empty_like(by_cell)
        recurrent = PackedProduct(weight_hh.t(), batch)
        at = [array.numpy() for array in (gates, cells, by_gates, by_cell, squashed)]
        before = cell.contiguous().numpy()
        shortest = lengths.min(initial=steps)
        for t in range(steps - 1, -1, -1):
            by_hidden = by_hidden + by_states[t]
            torch.tanh(cells[t], out=squashed)
            retreat(
                0, batch, t, lengths, chunk, at[0][t], at[1][t - 1] if t else before, at[4],
                by_hidden.numpy(), at[3], at[2][t],
            )  # fmt: skip
            passed = recurrent(by_gates[t])
            if t >= shortest:
                ended = torch.from_numpy(t >= lengths)
                passed[ended] = by_hidden[ended]
            by_hidden = passed
        del recurrent  # it takes as much memory as the weights, as do the next tensors
        needed = context.needs_input_grad
        flat = by_gates.view(steps * batch, -1)
        by_inputs = by_bias = None
        if needed[0]:
            by_inputs = PackedProduct(weight_ih.t(), len(flat))(flat).view_as(inputs)
        if needed[3]:
            by_bias = flat.sum(0)
        columns = flat.t().contiguous()  # once for both products
        del flat, by_gates, at
        by_weights = [None, None]
        if needed[1]:
            given = inputs.reshape(steps * batch, -1)
            by_weights[0] = PackedProduct(given.t(), len(columns))(columns)
        if needed[2]:
            earlier = torch.cat([hidden[None], states[:-1]]).view(steps * batch, size)
            by_weights[1] = PackedProduct(earlier.t(), len(columns))(columns)
        return by_inputs, *by_weights, by_bias, by_hidden, by_cell, None, None
