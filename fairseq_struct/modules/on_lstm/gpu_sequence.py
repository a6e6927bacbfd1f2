"""An ON-LSTM layer over a whole sequence on a GPU, with a hand-written backward pass."""

import contextlib
import functools
import warnings
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd

from fairseq_struct.errors import first_line


class ONLSTMSequenceOnGPU(torch.autograd.Function):
    """As :class:`.ONLSTMSequence`, on a GPU: two launches a step, a product and a Triton kernel.

    Weights and states may also be float16 or bfloat16; the steps between the products are then
    computed in float32. Under autocast all is in float32.

    Raises:
        RuntimeError: gradients are to be differentiated (``create_graph``).
    """

    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(
        context, inputs: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor,
        hidden: Tensor, cell: Tensor, lengths: Tensor, chunk: int,
    ):  # fmt: skip
        """h (T, batch, D), c_T (batch, D) and d (T, batch).

        Args:
            inputs: (T, batch, inputs).
            weight_ih, weight_hh, bias: (2 D/C + 4 D, inputs), (2 D/C + 4 D, D), (2 D/C + 4 D,).
            hidden, cell: (batch, D) h_0 and c_0.
            lengths: (batch,) steps of each instance, integers on the GPU.
            chunk: C.
        """
        from fairseq_struct.modules.on_lstm.gpu_steps import advance

        steps, batch, _ = inputs.shape
        size = hidden.size(1)
        exact = torch.promote_types(inputs.dtype, torch.float32)
        gates = torch.nn.functional.linear(inputs, weight_ih, bias).contiguous()
        states = inputs.new_empty(steps + 1, batch, size)
        cells = inputs.new_empty(steps + 1, batch, size, dtype=exact)
        distances = inputs.new_empty(steps, batch, dtype=exact)
        states[0], cells[0] = hidden, cell
        shape = _tile(size, chunk, exact)
        weight, own, earlier = weight_hh.t(), gates.unbind(0), states.unbind(0)
        with _launches_on(inputs):
            for t in range(steps):
                own[t].addmm_(earlier[t], weight)
                advance[(batch,)](
                    gates, states, cells, distances, lengths, t, batch, size // chunk, **shape
                )
        context.save_for_backward(inputs, weight_ih, weight_hh, gates, states, cells, lengths)
        context.chunk = chunk
        context.mark_non_differentiable(distances)
        # A view would keep the cells of all steps in memory.
        return states[1:], cells[-1].to(inputs.dtype, copy=True), distances

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(context, by_states: Tensor, by_last: Tensor, _):
        from fairseq_struct.modules.on_lstm.gpu_steps import retreat

        if torch.is_grad_enabled():
            raise RuntimeError("second-order gradients need ONLSTM(..., fused=False)")
        inputs, weight_ih, weight_hh, gates, states, cells, lengths = context.saved_tensors
        steps, batch, columns = gates.shape
        size, shape = states.size(2), _tile(states.size(2), context.chunk, cells.dtype)
        by_states, by_gates = by_states.contiguous(), torch.empty_like(gates)
        by_cell = by_last.to(cells.dtype, copy=True, memory_format=torch.contiguous_format)
        kept, passed = torch.empty_like(states[0]), torch.zeros_like(states[0])
        own = by_gates.unbind(0)
        with _launches_on(inputs):
            for t in range(steps - 1, -1, -1):
                retreat[(batch,)](
                    gates, cells, lengths, by_states, passed, by_cell, by_gates, kept, t, batch,
                    size // context.chunk, **shape,
                )  # fmt: skip
                torch.addmm(kept, own[t], weight_hh, out=passed)
        flat = by_gates.view(steps * batch, columns)
        needed = context.needs_input_grad
        earlier = states[:-1].reshape(steps * batch, size)
        return (
            (flat @ weight_ih).view_as(inputs) if needed[0] else None,
            flat.t() @ inputs.reshape(steps * batch, -1) if needed[1] else None,
            flat.t() @ earlier if needed[2] else None,
            flat.sum(0) if needed[3] else None,
            passed, by_cell.to(inputs.dtype), None, None,
        )  # fmt: skip


def _launches_on(tensor: Tensor) -> contextlib.AbstractContextManager:
    """Within it Triton uses the tensor's GPU; it does not look at where its arguments are."""
    return torch.cuda.device_of(tensor)


def _tile(size: int, chunk: int, exact: torch.dtype) -> dict:
    """The constants of a kernel."""
    import triton
    import triton.language as tl

    groups, width = (triton.next_power_of_2(number) for number in (size // chunk, chunk))
    return {
        "CHUNK": chunk, "GROUPS": groups, "WIDTH": width,
        "KIND": tl.float64 if exact == torch.float64 else tl.float32,
        "num_warps": max(1, min(16, groups * width // 256)),
    }  # fmt: skip


@functools.cache
def works(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the kernels run on a GPU; it warns if they should and do not.

    They need Triton, which torch brings for NVIDIA's and AMD's GPUs on Linux, and Triton needs a C
    compiler and Python's headers. (Older ones do not compile bfloat16 for older GPUs.)

    Args:
        device: the GPU.
        dtype: number format of the weights.

    Raises:
        torch.cuda.OutOfMemoryError: the GPU is full.
    """
    if find_spec("triton") is None:
        return False
    weights = torch.zeros(6, 1, device=device, dtype=dtype)
    length = torch.ones(1, dtype=torch.int32, device=device)
    one = torch.zeros(1, 1, device=device, dtype=dtype)
    try:
        ONLSTMSequenceOnGPU.apply(one[None], weights, weights, weights[:, 0], one, one, length, 1)
        torch.cuda.synchronize(device)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception as error:  # whatever keeps Triton from compiling
        why = first_line(error) or type(error).__name__
        warnings.warn(
            f"ON-LSTM layers run step by step on {device}, which takes longer: Triton's kernels do "
            f"not run in {dtype} ({why})", stacklevel=2,
        )  # fmt: skip
        return False
    return True
