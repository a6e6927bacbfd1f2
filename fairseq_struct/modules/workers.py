"""The processes that train one model together, each on batches of its own."""

import torch
from torch import Tensor


def rank() -> int:
    """The number of this process among them; 0 if it is alone."""
    return torch.distributed.get_rank() if _several() else 0


def own_generator(device: torch.device) -> torch.Generator | None:
    """What this process draws noise from: None, torch's own generator, for the first one.

    fairseq seeds torch's generator alike in all processes, so that those behind the first would
    draw the same noise for sentences of their own.
    """
    if rank() == 0:
        return None
    seed = int(torch.randint(2**62, ())) + rank()
    return torch.Generator(device).manual_seed(seed)


def sum_over_workers(numbers: Tensor) -> Tensor:
    """Sum of all processes' ``numbers``, of the same shape; all of them have to ask for it."""
    if _several():
        torch.distributed.all_reduce(numbers)
    return numbers


def _several() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
