"""Attachment scores and chains, against values computed by hand."""

from collections import Counter

import pytest
import torch

from fairseq_struct.metrics.attachment import AttachmentScores, scores_of_readings
from fairseq_struct.structure.dependency.chains import left_chain, random_trees, right_chain


def scored(predicted, gold):
    scores = AttachmentScores()
    scores.add(predicted, gold)
    return scores


def test_a_tree_is_all_right_for_itself():
    scores = scored([2, 0, 2, 3], [2, 0, 2, 3])
    assert (scores.uas, scores.uuas) == (100, 100)


def test_a_reversed_arc_counts_without_direction_only():
    # gold: 2 is the root, 1 and 3 depend on it; predicted: a chain from the first word.
    scores = scored([0, 1, 2], [2, 0, 2])
    assert scores.right == 1 and scores.words == 3
    assert scores.joined == 2 and scores.pairs == 2
    scores.add([0], [0])  # a sentence of one word has no pair
    assert scores.uas == 50 and scores.uuas == 100


def test_what_is_no_tree_is_scored_word_by_word():
    scores = scored([2, 1, 3], [2, 0, 2])  # a cycle, and a word as head of itself
    assert (scores.right, scores.joined) == (1, 1)
    empty = AttachmentScores()
    assert (empty.uas, empty.uuas, empty.exact_match) == (0, 0, 0)
    assert (empty.modifier_list, empty.modifier_count) == (0, 0)


def test_the_right_number_of_modifiers_need_not_be_the_right_ones():
    # gold: 1 <- 2 -> 5, 5 -> 3, 5 -> 4; predicted: 1 and 3 have changed their places.
    scores = scored([5, 0, 2, 5, 2], [2, 0, 5, 5, 2])
    assert (scores.with_modifiers, scores.lists, scores.modifier_list) == (2, 0, 0)
    assert (scores.with_arcs, scores.counts, scores.modifier_count) == (2, 2, 100)
    assert (scores.uas, scores.exact_match) == (60, 0)


def test_modifier_lists_and_counts_by_hand():
    # Word 2 has its modifiers 1 and 3; word 3 has 4, but 5 is attached to it, too; 4 lacks 5.
    scores = scored([2, 0, 2, 3, 3], [2, 0, 2, 3, 4])
    assert (scores.with_modifiers, scores.lists) == (3, 1)
    assert (scores.with_arcs, scores.counts) == (3, 1)
    # The root's arc counts as one of word 1, which then has as many arcs as in the gold tree.
    scores.add([0, 0, 2], [2, 0, 2])
    assert (scores.with_modifiers, scores.lists) == (4, 1)
    assert (scores.with_arcs, scores.counts) == (4, 1)
    moved = scored([0, 0, 0], [0, 1, 1])  # gold: word 1 has three arcs, here one
    assert (moved.with_modifiers, moved.lists, moved.counts) == (1, 0, 0)
    assert scored([0, 1], [2, 0]).modifier_count == 0
    scores.add([0], [0])  # without modifiers, but with an arc from the root
    assert (scores.with_modifiers, scores.with_arcs, scores.counts) == (4, 5, 2)
    assert (scores.sentences, scores.exact) == (3, 1)


def test_sums_of_several_workers():
    one, other = scored([2, 0], [2, 0]), scored([0, 1, 1], [0, 1, 2])
    both = AttachmentScores(*(a + b for a, b in zip(one.sums(), other.sums(), strict=True)))
    one.add([0, 1, 1], [0, 1, 2])
    assert both == one and both.exact_match == 50


@pytest.mark.parametrize(
    ("predicted", "message"),
    [([0, 1], "2 predicted heads for 3"), ([0, 1, 4], "4 is not a valid head in a sentence of 3")],
)
def test_heads_that_fit_no_sentence(predicted, message):
    with pytest.raises(ValueError, match=message):
        scored(predicted, [0, 1, 1])


def test_chains():
    assert right_chain(3) == [0, 1, 2] and left_chain(3) == [2, 3, 0]
    assert right_chain(1) == left_chain(1) == [0]
    assert right_chain(0) == left_chain(0) == []


def test_random_trees_are_uniform():
    lengths = torch.tensor([3] * 900 + [2])
    heads = random_trees(lengths, torch.Generator().manual_seed(1))
    counts = Counter(tuple(row) for row in heads[:900].tolist())
    assert len(counts) == 9  # all trees of three words with a single root
    assert max(abs(count - 100) for count in counts.values()) < 40
    assert heads[900, :2].tolist() in ([0, 1], [2, 0])


def test_readings_are_scored_by_their_names():
    gold = [(2, 0, 2), (0,)]
    readings = [{"": [2, 0, 2], "_other": [2, 1, 0, 9]}, {"": [0], "_other": [0, 7, 7, 7]}]
    assert scores_of_readings(gold, readings) == {
        "uas": 100, "uuas": 100, "uas_other": 50, "uuas_other": 50,
    }  # fmt: skip
