"""Checkpoints keep digests of the dictionaries, and are refused where these differ.

The digests are in the state of the task, which fairseq writes into every checkpoint. It hands
them back when it loads a model to use it, but not when a training goes on; that is done here.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from fairseq_struct.files.trained_words import KEY, SIDES, check_words, digests_of

# The trainer that is loading a checkpoint, and the checkpoint that was read last: fairseq hands a
# state to a task right after it has read it.
_loading: ContextVar[Any] = ContextVar("loading", default=None)
_read: ContextVar[str] = ContextVar("read", default="the checkpoint")


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    task = importlib.import_module("fairseq.tasks").FairseqTask
    trainer = importlib.import_module("fairseq.trainer").Trainer
    utils = importlib.import_module("fairseq.checkpoint_utils")
    task.state_dict = _with_digests(task.state_dict)
    task.load_state_dict = _checking(task.load_state_dict)
    trainer.load_checkpoint = _known(trainer.load_checkpoint)
    utils.load_checkpoint_to_cpu = _checking_before(utils.load_checkpoint_to_cpu)


def _with_digests(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(original)
    def state_dict(self: Any) -> dict[str, Any]:
        return {**original(self), KEY: digests_of(self)}

    return state_dict


def _checking(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def load_state_dict(self: Any, state: dict[str, Any]) -> None:
        check_words(state, self, _read.get())
        original(self, {name: value for name, value in state.items() if name != KEY})

    return load_state_dict


def _known(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        token = _loading.set(self)
        try:
            return original(self, filename, *args, **kwargs)
        finally:
            _loading.reset(token)

    return load_checkpoint


def _checking_before(original: Callable[..., Any]) -> Callable[..., Any]:
    """Check before parameters are read into the model."""

    @functools.wraps(original)
    def load_checkpoint_to_cpu(path: str, *args: Any, **kwargs: Any) -> Any:
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

    return load_checkpoint_to_cpu
