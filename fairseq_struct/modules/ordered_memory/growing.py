"""An Ordered Memory whose slots grow with the input, for longer sequences than in training."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from fairseq_struct.modules.ordered_memory.memory import OrderedMemory

# A sequence needs more slots if the last free one ever has more probability than this.
UNUSED = 1e-3


def read_growing(
    memory: OrderedMemory, inputs: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Read sequences, doubling the slots of each one until its last slot stays unused.

    A slot is unused if p_t gives it at most 0.001 at every word. A sequence of T words needs T - 1
    slots at most. How many it gets does not depend on the rest of the batch.

    Args:
        memory: the network; its number of slots is the one to begin with.
        inputs, lengths: as for :meth:`.OrderedMemory.forward`.

    Returns:
        The last outputs (batch, D), and the pointers (T, batch, slots) with the largest number of
        slots that was needed.
    """
    slots, lengths = memory.slots, lengths.cpu()
    waiting = torch.arange(inputs.size(1), device="cpu")
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    while len(waiting) or not found:  # an empty batch is the memory's to refuse
        result = memory(inputs[:, waiting.to(inputs.device)], lengths[waiting], slots)
        full = (result.pointers[..., 0] > UNUSED).any(0).cpu() & (lengths[waiting] > slots + 1)
        done = (~full).to(inputs.device)
        found.append((waiting[~full], result.last[done], result.pointers[:, done]))
        waiting, slots = waiting[full], 2 * slots
    most = max(pointers.size(2) for _, _, pointers in found)
    order = torch.cat([places for places, _, _ in found]).argsort().to(inputs.device)
    pointers = torch.cat([pad(part, (most - part.size(2), 0)) for _, _, part in found], 1)
    return torch.cat([last for _, last, _ in found])[order], pointers[:, order]
