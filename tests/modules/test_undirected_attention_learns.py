"""Undirected attention learns, in full and in low precision."""

import pytest
import torch
from torch.nn import functional

from fairseq_struct.modules.undirected import Passes
from fairseq_struct.modules.undirected.attention import UndirectedAttention


@pytest.mark.parametrize("order", ["forward_backward", "random"])
def test_learns_a_toy_set(order):
    """Ascending and descending runs of six of ten numbers with one hidden.

    In one pass, half of the random orders bring nothing of the others to the hidden numbers, so
    that what is learnt shows in the mean of several orders.
    """
    torch.manual_seed(1)
    runs = torch.stack([torch.arange(start, start + 6) for start in range(5)])
    runs = torch.cat([runs, runs.flip(1)]).repeat_interleave(6, 0)
    places = torch.arange(6).repeat(10)[:, None]
    lengths, targets = torch.full((60,), 6), runs.gather(1, places)[:, 0]
    net = UndirectedAttention(10, 32, order)
    solver = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(200):
        solver.zero_grad()
        functional.cross_entropy(net(runs, lengths, places).logits[:, 0], targets).backward()
        solver.step()
    with torch.no_grad():
        found = [net(runs, lengths, places).logits[:, 0].argmax(-1) for _ in range(20)]
    right = (torch.stack(found) == targets).float().mean()
    assert right > (0.95 if order == "forward_backward" else 0.4)


@pytest.mark.parametrize("how", [torch.bfloat16, "autocast"])
@pytest.mark.parametrize("order", ["forward_backward", "random"])
def test_low_precision_is_finite(how, order):
    net = UndirectedAttention(9, 6, order, Passes(2))
    if how != "autocast":
        net = net.to(how)
    tokens, lengths = torch.arange(14).view(2, 7) % 9, torch.tensor([7, 5])
    places = torch.tensor([[1, 4], [3, -1]])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=how == "autocast"):
        logits = net(tokens, lengths, places).logits
    logits.float().logsumexp(-1).sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in net.parameters())
