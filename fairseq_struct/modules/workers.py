"""The processes (workers) that train one model together, each on its own batches."""

import torch
from torch import Tensor


def rank() -> int:
    """The number of this process among the workers; 0 if it is alone."""
    return torch.distributed.get_rank() if _several() else 0


def own_generator(device: torch.device) -> torch.Generator | None:
    """The generator for this process's noise: None (torch's generator) for the first one.

    fairseq seeds torch's generator alike in all processes. So without other generators, all
    processes would draw the same noise for different sentences.
    """
    if rank() == 0:
        return None
    seed = int(torch.randint(2**62, ())) + rank()
    return torch.Generator(device).manual_seed(seed)


def own_gumbel_noise(like: Tensor) -> Tensor:
    """Standard Gumbel noise of this process, in the shape, precision and device of ``like``."""
    return torch.empty_like(like).exponential_(generator=own_generator(like.device)).log().neg()


def sum_over_workers(numbers: Tensor) -> Tensor:
    """Sum of ``numbers`` over all processes, of the same shape; all processes must call it."""
    if _several():
        torch.distributed.all_reduce(numbers)
    return numbers


def _several() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
