"""Scores of tensors and of numpy's arrays, which are those of the same lists."""

import numpy as np
import pytest
import torch

from fairseq_struct.metrics.attachment import AttachmentScores
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.metrics.channel_correlation import ChannelCorrelation
from fairseq_struct.metrics.confusion import accuracy
from fairseq_struct.metrics.direction import direction_scores
from fairseq_struct.metrics.labelled_bracketing import LabelledScores
from fairseq_struct.metrics.rank_correlation import rank_correlation
from fairseq_struct.metrics.v_measure import contingency_table

KINDS = pytest.mark.parametrize("of", [torch.tensor, np.array])
GOLD, FOUND = [2, 0, 2, 3], [0, 1, 2, 3]
SPANS = [(0, 4), (0, 2), (2, 4)]


@KINDS
def test_heads(of):
    listed, given = AttachmentScores(), AttachmentScores()
    listed.add(FOUND, GOLD)
    given.add(of(FOUND), of(GOLD))
    assert given == listed and given.uuas == 100
    assert direction_scores([of(GOLD)], [of(FOUND)]) == direction_scores([GOLD], [FOUND])
    with pytest.raises(TypeError, match="integer"):
        given.add(of([0.5, 1.0]), [0, 1])


@KINDS
def test_spans(of):
    scores, labelled = BracketingScores(), LabelledScores()
    assert scores.add(of(SPANS), of(SPANS), 4, [("NP", of(SPANS[1]))]) == 100
    assert scores.recall_of("NP") == 100
    labelled.add([("NP", of(span)) for span in SPANS], [("NP", span) for span in SPANS], 4)
    assert labelled.f1_labelled == 100


@KINDS
def test_ranks(of):
    assert rank_correlation(of([1.0, 1.0, 1.0]), of([0.1, 0.2, 0.3])) == 0
    assert rank_correlation(of([1.0, 2.0, 3.0]), of([0.1, 0.2, 0.3])) == pytest.approx(100)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int32])
def test_labels_of_other_integers(kind):
    classes, clusters = torch.tensor([0, 1, 1, 2]), torch.tensor([2, 1, 0, 2])
    expected = contingency_table(classes, clusters, 3)
    assert torch.equal(contingency_table(classes.to(kind), clusters.to(kind), 3), expected)
    assert expected.sum() == 4


def test_labels_that_do_not_fit():
    labels = torch.tensor([0, 1, 1])
    with pytest.raises(ValueError, match=r"classes \(3,\), but clusters \(1,\)"):
        contingency_table(labels, labels[:1], 2)
    with pytest.raises(ValueError, match="must be integers, not torch.int64 and torch.float32"):
        contingency_table(labels, labels.float(), 2)


def test_directions_need_gold_roots_and_all_words():
    with pytest.raises(ValueError, match="no word of gold tree 1 is a root"):
        direction_scores([[0], [2, 1]], [[0], [0, 1]])
    with pytest.raises(ValueError, match="1 predicted heads for 2 gold ones"):
        direction_scores([[2, 0]], [[0]])


def test_correlations_need_arcs():
    found = ChannelCorrelation(3)
    with pytest.raises(ValueError, match="no arc was added"):
        found.correlations([])
    found.add([[0.1, 0.2, 0.7]], ["det"])
    assert found.correlations([]).shape == (0, 3)


def test_a_share_has_all_digits():
    assert accuracy(torch.tensor([[5, 1], [2, 3]])) == 100 * 8 / 11
