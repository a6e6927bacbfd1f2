"""Pictures of what the units of a composer are active for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk import Tree

    from fairseq_struct.pages.drawing.shapes import Picture


def explain(_args: argparse.Namespace) -> str:
    """What rows, columns and numbers mean."""
    from fairseq_struct.pages.composition.unit_grid import LEGEND

    return LEGEND


def of_treebank(tool, gold: Sequence[tuple[str, Tree]]) -> tuple[str, Picture]:
    """A caption with the mutual information, and a picture.

    Raises:
        InputError: the model has no units, or a tree cannot be used.
    """
    from fairseq_struct.metrics.v_measure import v_measure
    from fairseq_struct.pages.composition.unit_grid import unit_grid

    used = tool.units(gold)
    information = v_measure(used.sets)  # which is the mutual information over the mean entropy
    caption = (
        f"{int(used.counts.sum())} steps, {used.sets.size(1)} sets of active units; normalised "
        f"mutual information {information:.1f}"
    )
    return caption, unit_grid(used.tags, used.counts.tolist(), used.active.tolist())
