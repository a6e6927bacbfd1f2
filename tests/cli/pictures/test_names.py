"""Captions name checkpoints by what tells them apart."""

from pathlib import Path

from fairseq_struct.cli.pictures.names import short_names


def names(*paths):
    return short_names(list(map(Path, paths)))


def test_short_names():
    assert names("runs/udgn/checkpoint_best.pt") == ["udgn"]
    assert names("runs/a/checkpoint_best.pt", "runs/b/checkpoint_last.pt") == ["a", "b"]
    assert names("/x/y/a/seed_1/checkpoint1.pt", "/x/y/b/seed_1/checkpoint1.pt") == [
        "a/seed_1", "b/seed_1"
    ]  # fmt: skip
    assert names("x/udgn.pt", "x/on_lstm.pt") == ["udgn", "on_lstm"]
    assert names("checkpoint_best.pt") == ["checkpoint_best"]
    assert names("a/checkpoint_best.pt", "a/checkpoint_last.pt") == [
        "a/checkpoint_best.pt", "a/checkpoint_last.pt"
    ]  # fmt: skip
    assert names("a/m.pt", "a/m.pt") == ["m", "m"]
