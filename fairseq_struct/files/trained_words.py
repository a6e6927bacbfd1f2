"""The words that a checkpoint was trained with, so that it is never used with others.

Dictionaries of one size fit the same parameters, whatever their words; numbers would be read as
other words, and nothing would be said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from fairseq_struct.errors import InputError

SIDES = ("source", "target")
KEY = "digests_of_dictionaries"  # in the state of a task


def digests_of(task: Any) -> dict[str, str]:
    """A digest of the words of each dictionary of a task, in their order."""
    found = {side: getattr(task, f"{side}_dictionary", None) for side in SIDES}
    return {
        side: hashlib.sha256("\n".join(words.symbols).encode()).hexdigest()[:16]
        for side, words in found.items()
        if words is not None
    }


def check_words(
    state: Mapping[str, Any], task: Any, checkpoint: str = "", sides: Iterable[str] = SIDES
) -> None:
    """Check that a task has the words of a training; checkpoints of older versions have no digests.

    Args:
        state: of the task, from a checkpoint.
        task: that shall be used with the checkpoint.
        checkpoint: its path.
        sides: dictionaries that must be the same.

    Raises:
        InputError: a dictionary has other words, or the same ones in another order.
    """
    known = state.get(KEY) or {}
    own = digests_of(task)
    for side in sides:
        if side in known and side in own and known[side] != own[side]:
            data = getattr(getattr(task, "cfg", None) or getattr(task, "args", None), "data", None)
            place = f"{checkpoint}: " if checkpoint else ""
            raise InputError(
                f"{place}the {side} dictionary in {data} is not that of its training: other words, "
                "or the same in another order"
            )
