"""What the progress display knows of a training from the lines of its log."""

import pytest

from fairseq_struct.records.training_log import logged
from fairseq_struct.records.training_progress import LoggedProgress, duration


def within_epochs(*points):
    """Log lines at these updates and numbers of epochs."""
    return logged(
        f'x | train_inner | {{"epoch": 1, "num_updates": "{update}", "update": {epochs}}}'
        for update, epochs in points
    )


def test_the_time_of_a_training_is_that_since_its_begin():
    progress = LoggedProgress()
    for line in (
        'x | train_inner | {"epoch": 1, "num_updates": "10", "train_wall": "2", "wall": "30"}',
        'x | valid | {"epoch": 1, "valid_num_updates": "12"}',
        'x | train | {"epoch": 1, "train_num_updates": "12", "train_train_wall": "3", '
        '"train_wall": "45"}',
    ):
        for entry in logged([line]):
            progress.add(entry)
    assert progress.update == 12 and progress.seconds == 45


def test_the_end_of_a_training_is_known_from_its_epochs():
    progress = LoggedProgress(epochs=3, update=50, epoch_updates=200)
    assert progress.total == 600
    progress.updates = 400
    assert progress.total == 400
    assert [duration(s) for s in (0.2, 40, 600, 12_000)] == ["1 s", "40 s", "10 min", "3 h 20 min"]


def test_the_first_line_of_a_training_tells_how_many_updates_an_epoch_has():
    progress = LoggedProgress(epochs=5)
    for entry in within_epochs((100, 0.333)):
        progress.add(entry)
    assert (progress.epoch_updates, progress.total) == (300, 1500)


@pytest.mark.parametrize(
    ("points", "updates", "total"),
    [
        ([(10, 3.333), (11, 3.667), (12, 4)], 3, 15),  # epochs of one update before, of three now
        ([(100, 0.5), (150, 0.75), (200, 1)], 200, 1000),  # counts epochs from 1 again
        ([(1, 3.333), (2, 3.667)], 3, 6),  # counts updates from 0 again
        ([(70, 4.667), (71, 5)], 3, 71),
        ([(100, 2.0), (200, 2.0), (300, 2.001)], 200_000, 600_100),  # no difference, by rounding
    ],
)
def test_a_resumed_training_counts_from_its_first_line(points, updates, total):
    progress = LoggedProgress(epochs=5, begin=None)
    first, *further = within_epochs(*points)
    progress.add(first)
    assert progress.epoch_updates is None and progress.total is None
    for entry in further:
        progress.add(entry)
    assert (progress.epoch_updates, progress.total) == (updates, total)


def test_a_training_does_not_end_before_what_is_done():
    progress = LoggedProgress(epochs=2, begin=(10, 1.001), epoch_updates=1000, update=1010)
    assert progress.total == 1010
