"""Heads that words select, each by itself and together as a tree."""

import torch

from fairseq_struct.structure.head_selection import best_heads, spanning_trees


def test_best_heads_are_those_of_columns():
    # [h, m]: word 1 likes 2 best, 2 likes 1 (no tree), 3 the root, which is itself.
    scores = torch.tensor([[0.0, 5, 1], [9, 1, 2], [3, 4, 7]])
    assert best_heads(scores[None], torch.tensor([3])).tolist() == [[2, 1, 0]]
    assert spanning_trees(scores[None], torch.tensor([3])).tolist() == [[2, 3, 0]]
    lengths = torch.tensor([2, 3])
    both = torch.stack([scores, scores])
    both[0, 2] = both[0, :, 2] = 99.0  # behind the end
    assert best_heads(both, lengths).tolist() == [[2, 1, 0], [2, 1, 0]]
    assert spanning_trees(both, lengths).tolist() == [[2, 0, 0], [2, 3, 0]]


def test_several_roots_on_request():
    scores = torch.tensor([[[5.0, 0], [0, 5]]])
    assert spanning_trees(scores, torch.tensor([2]), single_root=False).tolist() == [[0, 0]]
    assert sorted(spanning_trees(scores, torch.tensor([2]))[0].tolist()) in ([0, 1], [0, 2])
