"""Sinusoidal positions, and attention without torch's kernel for evaluation."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

# The longest wavelength of sinusoidal positions, divided by 2 pi.
LONGEST_WAVE = 10_000.0

_lock = threading.Lock()
_inside = 0  # threads, and what torch was set to before the first of them
_before = True


@contextmanager
def plain_attention() -> Iterator[None]:
    """Leave out torch's kernel for evaluation, in the whole process while any thread is inside.

    On CPUs, it takes several times as long for long sentences, and keeps all weights of a batch.
    """
    global _inside, _before
    kernels = torch.backends.mha
    with _lock:
        if _inside == 0:
            _before = kernels.get_fastpath_enabled()
            kernels.set_fastpath_enabled(False)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                kernels.set_fastpath_enabled(_before)


def sinusoids(numbers: Tensor, like: Tensor) -> Tensor:
    """sin(i / 10000^(2j / D)) at 2j and cos(i / 10000^(2j / D)) at 2j + 1 (Vaswani et al. 2017).

    Args:
        numbers: (n,) i.
        like: (.., D), whose type the result has; D is even.

    Returns:
        (n, D).
    """
    size = like.size(-1)
    even = torch.arange(0, size, 2, device=numbers.device, dtype=torch.float64)
    angles = numbers[:, None] * LONGEST_WAVE ** (-even / size)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).to(like.dtype)


def sinusoids_in_float32(count: int, size: int, device: torch.device | None = None) -> Tensor:
    """Those of the numbers 0, 1, …, (count, size), rounded at every step; any size.

    Trained composers have read these, which differ from :func:`sinusoids` in the last digits.
    """
    frequency = torch.arange(0, size, 2, device=device) * (-math.log(LONGEST_WAVE) / size)
    angles = torch.arange(count, device=device)[:, None] * frequency.exp()
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :size]
