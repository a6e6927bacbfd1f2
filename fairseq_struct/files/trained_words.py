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
# Tasks of fairseq's own whose dictionaries are the same in training and later.
OF_FAIRSEQ = ("TranslationTask", "LanguageModelingTask")


def digests_of(task: Any) -> dict[str, str]:
    """A digest of the words of each dictionary of a task, in their order.

    There are none if the task is not known to have the same dictionaries whenever it is made, or if
    its model reads other words (``reads_dictionary`` is false).
    """
    kind = type(task)
    known = any(base.__module__.split(".")[0] == "fairseq_struct" for base in kind.__mro__)
    of_fairseq = kind.__module__.startswith("fairseq.tasks.") and kind.__name__ in OF_FAIRSEQ
    if not (known or of_fairseq) or not getattr(task, "reads_dictionary", True):
        return {}
    found = {side: getattr(task, f"{side}_dictionary", None) for side in SIDES}
    return {
        side: hashlib.sha256("\n".join(words.symbols).encode()).hexdigest()[:16]
        for side, words in found.items()
        if words is not None
    }


def check_words(state: Any, task: Any, checkpoint: str, sides: Iterable[str] = SIDES) -> None:
    """Check that a task has the words of a training; checkpoints of older versions have no digests.

    Args:
        state: of the task, from a checkpoint; None if there is none.
        task: that shall be used with the checkpoint.
        checkpoint: its path.
        sides: dictionaries that must be the same.

    Raises:
        InputError: a dictionary has other words, or the same ones in another order; or the state
            is damaged.
    """
    state = {} if state is None else state
    known = state.get(KEY, {}) if isinstance(state, Mapping) else None
    if not isinstance(known, Mapping):
        raise InputError(f"{checkpoint}: damaged; the state of its task is none")
    if not known:
        return
    own = digests_of(task)
    for side in sides:
        if side in known and side in own and known[side] != own[side]:
            data = getattr(getattr(task, "cfg", None) or getattr(task, "args", None), "data", None)
            raise InputError(
                f"{checkpoint}: the {side} dictionary in {data} is not that of its training: other "
                "words, or the same in another order"
            )


def same_words(state: Any, other: Any) -> bool:
    """Whether the states of the tasks of two checkpoints have the same digests."""
    found = [one.get(KEY) if isinstance(one, Mapping) else None for one in (state, other)]
    return None in found or found[0] == found[1]
