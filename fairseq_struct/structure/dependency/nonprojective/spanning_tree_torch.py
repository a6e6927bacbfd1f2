"""The best dependency tree in plain torch, for whole batches at once, on any device.

Chu, Liu (1965) and Edmonds (1967) in rounds. Every node takes its best head. All cycles are
contracted at the same time. This repeats until there is no cycle. Then the rounds are undone in
reverse: a contracted cycle keeps all its arcs except the arc into the node where it is entered.
This search is used with ``backend="torch"``, and is the reference in tests of the compiled search.
In both, if the root must have one modifier, arcs are compared first by the number of arcs from the
root that they add, then by score. A penalty on the root's arcs would do the same, but lose the
scores' last digits.
"""

import torch
from torch import Tensor

MANY = 1 << 40


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
    # Node 0 is the root; weight[b, m, h] is the score of h as head of m.
    weight = scores.new_full((batch, size, size), -torch.inf)
    weight[:, 1:, 1:] = scores.transpose(1, 2)
    weight[:, 1:, 0] = scores.diagonal(0, 1, 2).masked_fill(padding, 0.0)
    weight.diagonal(0, 1, 2).fill_(-torch.inf)
    roots = torch.zeros(batch, size, size, dtype=torch.long, device=device)
    if single_root:
        roots[:, 1:, 0] = (~padding).long()
    nodes = torch.arange(size, device=device).expand(batch, size)
    # The words that an arc between two contracted nodes connects.
    source = nodes[:, None, :].expand(batch, size, size)
    target = nodes[:, :, None].expand(batch, size, size)
    member = nodes  # the node that holds a word
    active = torch.ones(batch, size, dtype=torch.bool, device=device)
    rounds = []
    while True:
        allowed = active[:, None, :] & active[:, :, None] & (nodes[:, :, None] != nodes[:, None])
        possible = allowed & (weight > -torch.inf)
        counts = roots.masked_fill(~possible, MANY)
        possible &= counts == counts.amin(2, keepdim=True)
        best = weight.masked_fill(~possible, -torch.inf).argmax(2)
        best = torch.where(active, best, 0)
        best[:, 0] = 0
        cycle, name = _cycles(best)
        arc = best.unsqueeze(2)
        arcs = source.gather(2, arc).squeeze(2), target.gather(2, arc).squeeze(2)
        if not cycle.any():
            break
        rounds.append((cycle, name, member, *arcs))
        on_cycle = cycle.unsqueeze(2)
        weight = torch.where(on_cycle, weight - weight.gather(2, arc), weight)
        roots = torch.where(on_cycle, roots - roots.gather(2, arc), roots)
        for side in (1, 2):  # the modifiers' names, then the heads'
            weight, roots, source, target = _merge(side, name, weight, roots, source, target)
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
    """Which nodes are on a cycle of ``best``, and each node's name: the first node of its cycle.

    A node on no cycle is its own name.
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
    side: int, name: Tensor, weight: Tensor, roots: Tensor, source: Tensor, target: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rename the nodes of one dimension; among arcs that then coincide, the best remains."""
    names = name.unsqueeze(3 - side).expand_as(weight)
    counts = roots.masked_fill(weight == -torch.inf, MANY)
    fewest = torch.full_like(counts, MANY).scatter_reduce(side, names, counts, "amin")
    behind = counts > fewest.gather(side, names)
    values = weight.masked_fill(behind, -torch.inf)
    best = torch.full_like(weight, -torch.inf).scatter_reduce(side, names, values, "amax")
    places = torch.arange(weight.size(side), device=weight.device)
    places = places.view(1, -1, 1) if side == 1 else places.view(1, 1, -1)
    winners = torch.where((values == best.gather(side, names)) & ~behind, places, -1)
    which = torch.full_like(names, -1).scatter_reduce(side, names, winners, "amax")
    which = torch.where(which < 0, places, which)
    return best, fewest, source.gather(side, which), target.gather(side, which)
