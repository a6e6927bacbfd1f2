"""Torch's LSTM, one layer in one direction, also in precisions the processor does not support."""

import functools

import torch
from torch import Tensor


def lstm(
    inputs: Tensor, start: tuple[Tensor, Tensor], weights: list[Tensor], training: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """States of all steps, and the last h and c, of ``torch.lstm`` without packing.

    Under autocast the LSTM is in half precision. oneDNN cannot run it on processors without such
    instructions (bfloat16 without AVX-512). There it runs in float32, and results are rounded.

    Args:
        inputs: (batch, T, size) if ``batch_first``, else (T, batch, size).
        start: h and c, (1, batch, D).
        weights: of inputs and states, and two biases.
        training: whether a gradient will be needed.
        batch_first: whether the batch is the first dimension of ``inputs``.
    """
    # (has bias, layers, dropout, training, bidirectional): no dropout after one layer.
    options = True, 1, 0.0, training, False, batch_first
    device = inputs.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    if device != "cpu" or dtype is None or inputs.dtype == torch.float64 or has_lstm(dtype):
        return torch.lstm(inputs, start, weights, *options)
    with torch.autocast(device, enabled=False):
        start, weights = ([one.float() for one in some] for some in (start, weights))
        found = torch.lstm(inputs.float(), start, weights, *options)
    return tuple(one.to(dtype) for one in found)


@functools.cache
def has_lstm(dtype: torch.dtype) -> bool:
    """Whether this processor runs and differentiates an LSTM under autocast to ``dtype``.

    It tries: oneDNN's abilities depend on more than the processor's name.
    """
    zeros = functools.partial(torch.zeros, dtype=torch.float32, device="cpu")
    with torch.inference_mode(False), torch.enable_grad():
        weights = [zeros(size, requires_grad=True) for size in ((4, 1), (4, 1), 4, 4)]
        start = zeros(1, 1, 1), zeros(1, 1, 1)
        try:
            with torch.autocast("cpu", dtype):
                found = torch.lstm(zeros(1, 1, 1), start, weights, True, 1, 0.0, True, False, True)
            found[0].float().sum().backward()
        except RuntimeError:
            return False
    return True
