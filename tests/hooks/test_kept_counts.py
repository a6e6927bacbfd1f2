"""Counts that go on with a training."""

from killed_trainings import state_of
from small_language_models import train


def test_patience_goes_on_where_it_was(language_folder, tmp_path):
    """The first validation is the best one; two more, and training ends."""

    def ends(name, *options):
        train(language_folder, tmp_path / name, "--optimizer=adam", "--lr=0", "--patience=2",
              "--no-epoch-checkpoints", *options)  # fmt: skip
        return state_of(tmp_path / name / "checkpoint_last.pt")["extra_state"]["train_iterator"]

    whole = ends("whole")
    assert whole["epoch"] == 4  # the next epoch
    assert ends("parts", "--max-epoch=2")["epoch"] == 3
    assert ends("parts") == whole
    assert ends("parts") == whole
