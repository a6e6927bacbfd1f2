"""The best dependency tree in plain torch, for whole batches at once, on any device.

Chu, Liu (1965) and Edmonds (1967) in rounds: every node takes its best head, all cycles that this
closes are contracted at the same time, and so on until there are none; then the rounds are undone
in reverse, every contracted cycle keeping all its arcs but the one to the node it is entered by.
The path taken on a GPU, and the oracle of the compiled search.
"""

import torch
from torch import Tensor

# Stands for -inf, whose differences would not be numbers.
FORBIDDEN = -1e15


@torch.no_grad()
def best_heads(scores: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Scores (batch,) of the best trees, -inf without a tree, and their heads (batch, n).

    Args:
        scores: (batch, n, n) in float64, the root's on the diagonal, -inf outside of a sentence.
        lengths: (batch,) words per sentence.
        single_root: whether the root has exactly one modifier.
    """
    batch, n, _ = scores.shape
    device = scores.device
    size = n + 1
    words = torch.arange(n, device=device)
    padding = words >= lengths[:, None]
    own = scores.diagonal(0, 1, 2).masked_fill(padding, 0.0)
    if single_root:
        # With every arc from the root this much worse, no tree has more of them than it must.
        finite = scores.masked_fill(scores == -torch.inf, 0.0)
        spread = finite.amax((1, 2)) - finite.amin((1, 2))
        penalty = 1 + 2 * n * spread
        own = torch.where(padding, own, own - penalty[:, None])
    # Node 0 is the root; weight[b, m, h] is that of h as head of m.
    weight = scores.new_full((batch, size, size), -torch.inf)
    weight[:, 1:, 1:] = scores.transpose(1, 2)
    weight[:, 1:, 0] = own
    weight.diagonal(0, 1, 2).fill_(-torch.inf)
    weight[:, 0] = -torch.inf
    weight.clamp_(min=FORBIDDEN)
    nodes = torch.arange(size, device=device).expand(batch, size)
    # The words that the arc between two contracted nodes really connects.
    source = nodes[:, None, :].expand(batch, size, size)
    target = nodes[:, :, None].expand(batch, size, size)
    member = nodes  # the node that holds a word
    active = torch.ones(batch, size, dtype=torch.bool, device=device)
    rounds = []
    while True:
        allowed = active[:, None, :] & active[:, :, None] & (nodes[:, :, None] != nodes[:, None])
        best = weight.masked_fill(~allowed, 2 * FORBIDDEN).argmax(2)
        best = torch.where(active, best, 0)
        best[:, 0] = 0
        cycle, name = _cycles(best)
        arc = best.unsqueeze(2)
        arcs = source.gather(2, arc).squeeze(2), target.gather(2, arc).squeeze(2)
        if not cycle.any():
            break
        rounds.append((cycle, name, member, *arcs))
        known = weight.gather(2, arc).squeeze(2)
        weight = torch.where(cycle[:, :, None], weight - known[:, :, None], weight)
        weight, source, target = _merge(weight, source, target, name)
        active = active & (name == nodes)
        member = name.gather(1, member)
    head, modifier = arcs
    for cycle, name, member, inner_head, inner_modifier in reversed(rounds):
        outer_head, outer_modifier = head.gather(1, name), modifier.gather(1, name)
        entered = member.gather(1, outer_modifier) == nodes
        keep = cycle & ~entered
        head = torch.where(keep, inner_head, outer_head)
        modifier = torch.where(keep, inner_modifier, outer_modifier)
    heads = head[:, 1:].masked_fill(padding, 0)
    rows = torch.where(heads == 0, words, heads - 1)
    best = scores.gather(1, rows[:, None]).squeeze(1).masked_fill(padding, 0.0).sum(1)
    if single_root:
        alone = ((heads == 0) & ~padding).sum(1) == 1
        best = best.masked_fill(~alone, -torch.inf)
    return best, heads.masked_fill((best == -torch.inf)[:, None], 0)


def _cycles(best: Tensor) -> tuple[Tensor, Tensor]:
    """Which nodes are on a cycle of ``best``, and each node's name: its cycle's first node.

    Nodes that are on no cycle are named after themselves.
    """
    size = best.size(1)
    nodes = torch.arange(size, device=best.device).expand_as(best)
    far, name = best, torch.minimum(nodes, best)
    for _ in range(size.bit_length()):  # steps 1, 2, 4, ... beyond every path
        name = torch.minimum(name, name.gather(1, far))
        far = far.gather(1, far)
    cycle = torch.zeros_like(best, dtype=torch.bool).scatter(1, far, True)
    cycle[:, 0] = False
    return cycle, torch.where(cycle, name, nodes)


def _merge(
    weight: Tensor, source: Tensor, target: Tensor, name: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Best arcs between nodes after renaming them; first on the modifiers' side, then on heads'."""
    for side in (1, 2):
        shape = (-1, -1, weight.size(2)) if side == 1 else (-1, weight.size(1), -1)
        names = name.unsqueeze(3 - side).expand(*shape)
        best = torch.full_like(weight, 2 * FORBIDDEN).scatter_reduce(side, names, weight, "amax")
        places = torch.arange(weight.size(side), device=weight.device)
        places = places.view(1, -1, 1) if side == 1 else places.view(1, 1, -1)
        winners = torch.where(weight == best.gather(side, names), places, -1)
        which = torch.full_like(names, -1).scatter_reduce(side, names, winners, "amax")
        which = torch.where(which < 0, places, which)
        weight = best
        source, target = source.gather(side, which), target.gather(side, which)
    return weight, source, target
