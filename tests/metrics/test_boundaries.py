"""Boundaries of subtasks on hand-made demonstrations."""

import pytest
import torch

from fairseq_struct.metrics.boundaries import (
    aligned_steps,
    boundaries_above,
    boundary_f1,
    inner_boundaries,
    most_likely_boundaries,
)


def marks(*rows: str) -> torch.Tensor:
    return torch.tensor([[letter == "|" for letter in row] for row in rows])


# Two subtasks of 3 and 2 steps, then padding; and three of 1, 4 and 2 steps.
TRUE = marks("..|.|..", "|...|.|")
SUBTASKS = torch.tensor([[2, 2, 2, 0, 0, -1, -1], [1, 0, 0, 0, 0, 1, 1]])


def test_an_end_closes_the_step_before_it():
    ends = torch.tensor([[1, 0, 0, 0.9, 0, 1, 1], [1, 0.4, 0, 0, 0, 0.3, 0]])
    assert most_likely_boundaries(ends, TRUE).equal(TRUE)
    assert boundaries_above(ends, TRUE).equal(marks("..|.|..", "......|"))
    assert boundaries_above(ends, TRUE, 0.2).equal(TRUE)


def test_equal_ends_and_the_first_one():
    """e_1 is 1 by definition and closes nothing; of equal ends the earliest count."""
    ends = torch.tensor([[1.0, 0, 0, 0, 0, 5, 5], [1.0, 0, 0, 0, 0, 0, 0]])
    expected = marks("|...|..", "||....|")
    assert most_likely_boundaries(ends, TRUE).equal(expected)
    slots = 7 * ends - 3  # any range and sign
    assert most_likely_boundaries(slots, TRUE).equal(expected)


@pytest.mark.parametrize(
    ("predicted", "tolerance", "expected"),
    [
        ("..|.|..", 1, 1.0),
        (".|..|..", 1, 1.0),
        (".|..|..", 0, 1 / 2),
        ("|...|..", 1, 1 / 2),
        ("|...|..", 2, 1.0),
        ("....|..", 0, 2 / 3),  # precision 1, recall 1/2
        ("|||||..", 0, 4 / 7),  # precision 2/5, recall 1
        ("|......", 1, 0.0),
        (".......", 1, 0.0),
    ],
)
def test_f1(predicted, tolerance, expected):
    found = boundary_f1(marks(predicted), TRUE[:1], tolerance)
    assert found.tolist() == pytest.approx([expected])


def test_inner_boundaries_are_without_the_end_that_is_known():
    assert inner_boundaries(TRUE, TRUE).equal(marks("..|....", "|...|.."))
    assert inner_boundaries(marks("||.||.|", "......|"), TRUE).equal(marks("||.|...", "......."))
    # Ends that say nothing: the last boundary is given, the others are those of the first steps.
    predicted = most_likely_boundaries(torch.zeros(2, 7), TRUE)
    assert boundary_f1(predicted, TRUE).tolist() == pytest.approx([1 / 2, 4 / 5])
    inner = [inner_boundaries(some, TRUE) for some in (predicted, TRUE)]
    assert boundary_f1(*inner).tolist() == pytest.approx([0.0, 2 / 3])


def test_f1_by_loops():
    generator = torch.Generator().manual_seed(1)
    predicted, true = (torch.rand(50, 12, generator=generator) < 0.3 for _ in range(2))
    true[:, 5] = True
    for row, found in enumerate(boundary_f1(predicted, true).tolist()):
        ours, theirs = (part[row].nonzero()[:, 0].tolist() for part in (predicted, true))
        right = sum(any(abs(a - b) <= 1 for b in theirs) for a in ours)
        seen = sum(any(abs(a - b) <= 1 for a in ours) for b in theirs)
        precision, recall = right / max(len(ours), 1), seen / len(theirs)
        expected = 2 * precision * recall / (precision + recall) if right else 0
        assert found == pytest.approx(expected)


def test_alignment():
    assert aligned_steps(TRUE, TRUE, SUBTASKS).tolist() == [5, 7]
    late = marks("...||..", "|.....|")
    assert aligned_steps(late, TRUE, SUBTASKS).tolist() == [4, 5]
    many = marks("|||||..", "|||||||")
    assert aligned_steps(many, TRUE, SUBTASKS).tolist() == [3, 4]
    assert aligned_steps(marks(".......", "......."), TRUE, SUBTASKS).tolist() == [3, 3]


def test_padding_changes_nothing():
    ends = torch.tensor([[1, 0.2, 0.1, 0.6, 0.7, 0.9, 0.8]])
    whole = most_likely_boundaries(ends, TRUE[:1])
    assert whole[:, :5].equal(most_likely_boundaries(ends[:, :5], TRUE[:1, :5]))
    assert not whole[:, 5:].any() and not boundaries_above(ends, TRUE[:1])[:, 5:].any()


def test_the_action_done_after_the_last_boundary_is_not_looked_at():
    true, ends = marks(".|.|."), torch.tensor([[1, 0, 0.6, 0, 0.9]])
    assert most_likely_boundaries(ends, true).equal(true)
    assert boundaries_above(ends, true).equal(true)
    assert aligned_steps(true, true, torch.tensor([[2, 2, 0, 0, 0]])).tolist() == [5]


def test_an_end_that_is_no_number():
    with pytest.raises(ValueError, match="^ends must not be NaN"):
        most_likely_boundaries(torch.full((2, TRUE.shape[1]), torch.nan), TRUE)
