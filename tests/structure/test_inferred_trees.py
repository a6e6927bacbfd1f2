"""Trees of both kinds, in the form that criterion and tools request."""

import torch
from tree_kinds import random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.inferred_trees import ConstituentSpans, DependencyHeads, StackTrees


def test_dependencies_are_the_best_heads_of_each_sentence_without_padding():
    scores, lengths = random_scores(3, 5, 5), torch.tensor([5, 1, 3])
    calls = []

    def best(given, sizes):
        calls.append(given)
        return DependencyTrees(given, sizes).heads

    trees = DependencyHeads(scores.requires_grad_(), lengths, best)
    assert trees.kind == "dependencies" and not calls  # not requested yet
    expected = DependencyTrees(scores, lengths).heads
    assert trees.heads() == [
        tuple(row[:n].tolist()) for row, n in zip(expected, lengths, strict=True)
    ]
    for heads, depth in zip(trees.heads(), trees.depths().tolist(), strict=True):
        def arcs(word, heads=heads):
            return 1 + (arcs(heads[word - 1]) if heads[word - 1] else 0)

        assert depth == max(arcs(word) for word in range(1, len(heads) + 1))
    assert len(calls) == 1 and not calls[0].requires_grad


def test_constituents_are_spans_and_the_mean_number_around_a_word():
    trees = ConstituentSpans([[(0, 3), (1, 3)], [], [(0, 2)]], torch.tensor([3, 1, 2]))
    assert trees.kind == "constituents"
    assert trees.spans() == [((0, 3), (1, 3)), (), ((0, 2),)]
    torch.testing.assert_close(trees.depths(), torch.tensor([5 / 3, 0.0, 1.0]))


def test_trees_of_a_stack_come_from_its_pointers():
    pointers = torch.zeros(3, 2, 4)
    pointers[1, :, 3] = 1.0
    pointers[2, 0] = torch.tensor([0.0, 0.0, 0.6, 0.4])
    pointers[2, 1] = torch.tensor([0.0, 0.0, 0.4, 0.6])
    for length, expected in ((3, [[(0, 3), (1, 3)], [(0, 3), (0, 2)]]), (1, [[], []])):
        trees = StackTrees(pointers[:length], torch.full((2,), length))
        assert trees.spans() == [tuple(tree) for tree in expected]
        assert trees.kind == "constituents"
    assert trees.depths().tolist() == [0.0, 0.0]
