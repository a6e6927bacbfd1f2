"""Pictures of a memory of slots, step by step."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def explain(_args: argparse.Namespace) -> str:
    """What the shades mean."""
    from fairseq_struct.pages.grids.memory_grid import LEGEND

    return LEGEND


def column(name: str, tool, sentences: Sequence[str], gold: Sequence = ()) -> list[list[tuple]]:
    """A caption and a picture of each sentence."""
    from fairseq_struct.pages.grids.memory_grid import memory_grid

    return [
        [(name, memory_grid(one.words, one.pointers.tolist(), one.spans))]
        for one in tool.memories(sentences)
    ]
