"""Checkpoints shaped like fairseq's, of a few numbers."""

import argparse
from collections import OrderedDict
from pathlib import Path

import torch


def save(path: Path, number: float = 0.0, maximize: bool = False, **parameters) -> Path:
    """Write a checkpoint shaped like fairseq's, with ``number`` as every parameter."""
    tied = torch.full((3, 2), number)
    model = {
        "embed.weight": tied,
        "out.weight": tied,
        "half.weight": torch.full((2,), number, dtype=torch.float16),
        "double.weight": torch.full((2,), number, dtype=torch.float64),
        "version": torch.tensor([int(number)]),
    }
    state = {
        "args": None,
        "cfg": {
            "checkpoint": {"maximize_best_checkpoint_metric": maximize},
            "model": argparse.Namespace(arch="tiny"),
        },
        "model": OrderedDict(model | parameters),
        "optimizer_history": [{"num_updates": int(number), "lr_scheduler_state": {}}],
        "extra_state": {"val_loss": number, "ema": {"embed.weight": tied}},
        "last_optimizer_state": {"state": {0: tied}},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path
