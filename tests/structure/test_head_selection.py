"""Heads that words select: each word separately, and all together as a tree."""

import pytest
import torch

from fairseq_struct.structure.dependency.head_selection import best_heads, readings, spanning_trees


def test_best_heads_are_those_of_columns():
    # [h, m]: word 1 likes 2 best, 2 likes 1 (no tree), 3 the root, which is itself, then 2.
    scores = torch.tensor([[0.0, 5, 1], [9, 1, 2], [3, 4, 7]])
    assert best_heads(scores[None], torch.tensor([3]), root=True).tolist() == [[2, 1, 0]]
    assert best_heads(scores[None], torch.tensor([3])).tolist() == [[2, 1, 2]]
    assert spanning_trees(scores[None], torch.tensor([3])).tolist() == [[2, 3, 0]]
    lengths = torch.tensor([2, 3])
    both = torch.stack([scores, scores])
    both[0, 2] = both[0, :, 2] = 99.0  # beyond the end
    assert best_heads(both, lengths, root=True).tolist() == [[2, 1, 0], [2, 1, 0]]
    assert best_heads(both, lengths).tolist() == [[2, 1, 0], [2, 1, 2]]
    assert spanning_trees(both, lengths).tolist() == [[2, 0, 0], [2, 3, 0]]


def test_several_roots_on_request():
    scores = torch.tensor([[[5.0, 0], [0, 5]]])
    assert spanning_trees(scores, torch.tensor([2]), single_root=False).tolist() == [[0, 0]]
    assert sorted(spanning_trees(scores, torch.tensor([2]))[0].tolist()) in ([0, 1], [0, 2])


def test_scores_of_float64_keep_their_digits():
    scores = torch.tensor([[[1 + 1e-9, 5], [5, 1]]], dtype=torch.float64)
    assert spanning_trees(scores, torch.tensor([2])).tolist() == [[0, 1]]
    assert spanning_trees(scores.mT.flip(1, 2), torch.tensor([2])).tolist() == [[2, 0]]


def test_a_word_attaches_to_another_one_unless_it_is_alone():
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(4, 5, 5, generator=generator)
    scores += 9 * torch.eye(5)  # every word likes itself best
    lengths = torch.tensor([5, 1, 2, 4])
    for scale in (1.0, -1.0):
        found = best_heads(scale * scores, lengths).tolist()
        assert found[1] == [0] * 5 and found[2] == [2, 1, 0, 0, 0]
        for row, n in ((0, 5), (3, 4)):
            for word, head in enumerate(found[row][:n]):
                others = [h for h in range(n) if h != word]
                column = scale * scores[row, :, word]
                assert head - 1 == max(others, key=lambda h, own=column: float(own[h]))


def test_readings_have_names():
    scores = torch.tensor([[[5.0, 1], [1, 7]]])
    found = readings(scores, torch.tensor([2]))
    assert {name: heads.tolist() for name, heads in found.items()} == {
        "": [[2, 0]], "_argmax": [[2, 1]], "_argmax_root": [[0, 0]],
    }  # fmt: skip


def test_scores_and_lengths_that_are_wrong():
    scores = torch.zeros(2, 3, 3)
    for ways in (best_heads, readings):
        assert ways(scores, [3, 2]) is not None  # a list, as for trees
        with pytest.raises(ValueError, match="sentence 1 has length 4; allowed are 1 to 3"):
            ways(scores, torch.tensor([3, 4]))
    scores[1, 2] = scores[1, :, 2] = float("nan")  # outside of the sentence
    assert best_heads(scores, torch.tensor([3, 2])).tolist()[1][2] == 0
    scores[0, 1, 2] = float("nan")
    with pytest.raises(ValueError, match="the score of arc 1 -> 2 in sentence 0 is nan"):
        best_heads(scores, torch.tensor([3, 2]))
