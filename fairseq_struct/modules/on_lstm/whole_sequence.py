"""The fastest way to run an ON-LSTM layer over a whole sequence on the device at hand."""

import torch
from torch import Tensor, nn

from fairseq_struct.modules.on_lstm import gpu_sequence
from fairseq_struct.modules.on_lstm.sequence import ONLSTMSequence
from fairseq_struct.structure.kernels.untraced import untraced


@untraced
def whole_sequence(
    cell: nn.Module, weight: Tensor, given: Tensor, start: tuple[Tensor, Tensor],
    lengths: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor] | None:  # fmt: skip
    """h_1 .. h_T, c_T and d_1 .. d_T of a cell; None where it must be called step by step.

    Args:
        cell: an :class:`.on_lstm.ONLSTMCell` with a bias.
        weight: U, in place of the cell's own.
        given: (T, batch, input_size).
        start: h_0 and c_0, (batch, D) each.
        lengths: (batch,) steps of each instance; T if not given.
    """
    values = given, cell.weight_ih, weight, cell.bias, *start
    if given.is_cuda and gpu_sequence.works(given.device, weight.dtype):
        own = _lengths(given, lengths, given.device).int()
        return gpu_sequence.ONLSTMSequenceOnGPU.apply(*values, own, cell.chunk_size)
    if given.device.type == "cpu" and weight.dtype in (torch.float32, torch.float64):
        own = _lengths(given, lengths, "cpu").long().contiguous().numpy()
        return ONLSTMSequence.apply(*values, own, cell.chunk_size)
    return None


def _lengths(given: Tensor, lengths: Tensor | None, device) -> Tensor:
    if lengths is None:
        return torch.full((given.size(1),), len(given), device=device)
    return torch.as_tensor(lengths, device=device)
