"""A training that is cut in two beside one that is not."""

from pathlib import Path

import torch
from fairseq_commands import run

from fairseq_struct import compat


def whole_and_resumed(folder: Path, *options: object, cut: int, updates: int) -> tuple[str, str]:
    """The logs of both trainings, whose parameters at the end are the same, bit for bit.

    Args:
        folder: for their checkpoints, below ``whole`` and ``parts``.
        options: of fairseq-train.
        cut: the update after which the second one is begun again.
        updates: of both.
    """
    whole = run("train", *options, f"--max-update={updates}", f"--save-dir={folder}/whole")
    run("train", *options, f"--max-update={cut}", f"--save-dir={folder}/parts")
    resumed = run("train", *options, f"--max-update={updates}", f"--save-dir={folder}/parts")
    assert "Loaded checkpoint" in resumed
    first, second = (
        compat.load_state(folder / name / "checkpoint_last.pt")["model"]
        for name in ("whole", "parts")
    )
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name
    return whole, resumed
