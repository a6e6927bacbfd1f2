"""A training killed while it writes: the same command resumes it and gives the same result.

Each kill falls into a different write, copy, rename or removal of a checkpoint. The kills are
evenly spaced over all such events of a training. The variable KILLS sets their number, over three
systems together; forty take minutes.
"""

import os
import shutil

import pytest
import small_language_models
import small_masked_models
from fairseq_commands import train as train_translation
from fairseq_commands import write_data_bin
from killed_trainings import difference, in_child, state_of

SAVING = ["--save-interval-updates=3", "--keep-interval-updates=1", "--keep-last-epochs=1",
          "--seed=5", "--num-workers=0"]  # fmt: skip
KILLED = -9
KILLS = int(os.environ.get("KILLS", 3))


def scheduled_sampling(shared, language_folder):
    data = write_data_bin(shared)
    return lambda save_dir: train_translation(
        data, save_dir, *SAVING, "--batch-size=16", "--max-update=7"
    )


def on_lstm(shared, language_folder):
    options = [*SAVING, "--optimizer=adam", "--lr=0.01", "--max-epoch=1"]
    return lambda save_dir: small_language_models.train(language_folder, save_dir, *options)


def udgn(shared, language_folder):
    options = [*SAVING, "--max-epoch=2", "--keep-best-checkpoints=2"]
    return lambda save_dir: small_masked_models.train(language_folder, save_dir, *options)


def check_kills(train, folder, kills):
    """Kill ``train`` ``kills`` times, each in a separate training, and compare the final states."""
    whole = folder / "whole"
    status, events, complaint = in_child(train, whole)
    assert status == 0, complaint
    assert len(events) > 4 * kills  # the moments differ
    expected = {path.name: state_of(path) for path in whole.iterdir()}
    assert {"checkpoint_best.pt", "checkpoint_last.pt"} < set(expected)
    for number in range(kills):
        moment = round((number + 0.5) * len(events) / kills)
        save_dir = folder / f"killed-{moment}"
        status, _, complaint = in_child(train, save_dir, kill_at=moment)
        assert status == KILLED, complaint
        for path in save_dir.glob("*.pt"):
            state_of(path)  # every checkpoint is complete
        status, _, complaint = in_child(train, save_dir)
        assert status == 0, f"refused after a kill at {events[moment - 1]}: {complaint}"
        for name, state in expected.items():
            found = difference(state, state_of(save_dir / name))
            assert found is None, f"{name} after a kill at {events[moment - 1]}: {found}"
        assert not list(save_dir.glob("*.tmp"))
        shutil.rmtree(save_dir)


@pytest.mark.parametrize("number", range(3), ids=["scheduled_sampling", "on_lstm", "udgn"])
def test_a_killed_training_ends_where_it_would_have(number, language_folder, tmp_path):
    kills = len(range(number, KILLS, 3))
    if not kills:
        pytest.skip(f"KILLS={KILLS}")
    train = (scheduled_sampling, on_lstm, udgn)[number](tmp_path, language_folder)
    check_kills(train, tmp_path / "runs", kills)
