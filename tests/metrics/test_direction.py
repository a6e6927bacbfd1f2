"""Directions of arcs and roots, against trees whose orientations are written out."""

import pytest

from fairseq_struct.metrics.direction import direction_scores, hung_up

CHAIN = [2, 3, 4, 0]  # 1 <- 2 <- 3 <- 4
# The chain with each of its words as the root.
HUNG = {1: [0, 1, 2, 3], 2: [2, 0, 2, 3], 3: [2, 3, 0, 3], 4: [2, 3, 4, 0]}


@pytest.mark.parametrize("root", HUNG)
def test_a_tree_has_one_orientation_for_each_root(root):
    assert hung_up(CHAIN, root) == HUNG[root]
    assert hung_up(HUNG[root], 4) == CHAIN


def test_a_star_is_turned_at_one_arc_only():
    assert hung_up([0, 1, 1, 1], 3) == [3, 1, 0, 1]


def test_words_of_another_root_keep_their_heads():
    assert hung_up([0, 1, 0, 3], 2) == [2, 0, 0, 3]


def test_the_same_arcs_with_another_root():
    found = direction_scores([CHAIN], [HUNG[2]])
    assert found["root"] == 0 and found["uas_rooted"] == 100
    assert found["direction"] == pytest.approx(100 / 3)  # 1 <- 2 alone is right


def test_arcs_that_are_not_found_have_no_direction():
    gold, predicted = [2, 0, 2], [3, 1, 0]  # only the arc of 1 and 2 is found, turned round
    found = direction_scores([gold, CHAIN], [predicted, CHAIN])
    assert found["direction"] == pytest.approx(100 * 3 / 4) and found["root"] == 50
    # Hung up at 2, the first tree is 2 -> 1 -> 3.
    assert found["uas_rooted"] == pytest.approx(100 * (2 + 4) / 7)
