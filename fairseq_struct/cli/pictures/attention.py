"""Pictures of the attention weights of undirected networks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def explain(_args: argparse.Namespace) -> str:
    """What the shades mean."""
    from fairseq_struct.pages.grids.attention_grid import LEGEND

    return LEGEND


def column(name: str, tool, sentences: Sequence[str], gold: Sequence = ()) -> list[list[tuple]]:
    """For each sequence, a caption and a picture of each value of the attention weights."""
    from fairseq_struct.pages.grids.attention_grid import attention_grid

    return [
        [
            (f"{name}: pass {number}{half}", attention_grid(one.symbols, weights.tolist()))
            for number, steps in enumerate(one.weights, 1)
            for half, weights in zip(
                (", forward", ", backward") if len(steps) > 1 else ("",), steps, strict=True
            )
        ]
        for one in tool.attentions(sentences)
    ]
