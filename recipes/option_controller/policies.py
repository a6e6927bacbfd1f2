"""Trained policies of the recipes in this folder."""

import argparse
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.records.scoring import log_of, scoring_options

CHECKPOINT = "checkpoint_last.pt"


def policy_options(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all these scoring scripts have."""
    parser = scoring_options(description)
    parser.add_argument("--seeds", nargs="+", required=True, help="seeds of the runs")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes to play")
    return parser


def runs_in(parent: str | Path, seeds: Sequence[str]) -> list[Path]:
    """Folders of the runs with these seeds."""
    return [Path(parent) / f"seed_{seed}" for seed in seeds]


def player(run: Path):
    """The policy at the end of a run."""
    return fairseq_struct.load(run / CHECKPOINT, ability="rollout")


def validated(run: Path) -> dict[str, float]:
    """Numbers of the validation at the end of a training."""
    epochs = log_of(run).splits.get("valid")
    if not epochs:
        raise InputError(f"{run}: the log has no validation")
    return epochs[max(epochs)]


def own_options(table: np.ndarray) -> tuple[int, ...]:
    """The option of each subtask, so that the sum of their successes is largest.

    No option has two subtasks while another one has none.

    Args:
        table: (K, subtasks) successes of options.

    Returns:
        For each subtask the number of its option; with fewer options than subtasks, some options
        have several.
    """
    options, subtasks = table.shape
    pool = list(range(options)) * -(-subtasks // options)
    return max(
        permutations(pool, subtasks),
        key=lambda order: sum(table[option, place] for place, option in enumerate(order)),
    )
