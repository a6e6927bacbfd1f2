"""Checkpoints keep digests of the dictionaries, and are refused where these differ.

The digests are in the state of the task, which fairseq writes into every checkpoint. It hands
them back when it loads a model to use it, but not when a training goes on; that is done here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from fairseq_struct.files.trained_words import KEY, SIDES, check_words, digests_of
from fairseq_struct.hooks.wrapping import wrap

# The trainer that is loading a checkpoint, and the checkpoint that was read last: fairseq hands a
# state to a task right after it has read it.
_loading: ContextVar[Any] = ContextVar("loading", default=None)
_read: ContextVar[str] = ContextVar("read", default="the checkpoint")


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    from fairseq import checkpoint_utils
    from fairseq.tasks import FairseqTask
    from fairseq.trainer import Trainer

    wrap(FairseqTask, "state_dict", _with_digests)
    wrap(FairseqTask, "load_state_dict", _checking)
    wrap(Trainer, "load_checkpoint", _known)
    wrap(checkpoint_utils, "load_checkpoint_to_cpu", _checking_before)


def _with_digests(original: Callable[..., Any], self: Any) -> dict[str, Any]:
    return {**original(self), KEY: digests_of(self)}


def _checking(original: Callable[..., Any], self: Any, state: dict[str, Any]) -> None:
    check_words(state, self, _read.get())
    original(self, {name: value for name, value in state.items() if name != KEY})


def _known(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    token = _loading.set(self)
    try:
        return original(self, *args, **kwargs)
    finally:
        _loading.reset(token)


def _checking_before(original: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    """Check before parameters are read into the model."""
    state = original(path, *args, **kwargs)
    _read.set(path)
    trainer = _loading.get()
    if trainer is not None:
        given = trainer.cfg.checkpoint
        begins = given.finetune_from_model == path or given.reset_optimizer
        # A classifier that begins with another one's parameters may have labels of its own.
        labels = hasattr(trainer.task, "label_names")
        sides = SIDES[:1] if begins and labels else SIDES
        check_words(state.get("task_state"), trainer.task, path, sides)
    return state
