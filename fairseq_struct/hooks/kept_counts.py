"""What fairseq's trainer forgets when a training goes on, and remembers when another begins."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fairseq_struct.hooks.wrapping import wrap

# Key of the count of validations without progress in a checkpoint.
PATIENCE = "patience"
# Key of what a task keeps between updates (``training_state``) in a checkpoint.
TASK = "task"


def forget_other_trainings():
    """Forget what fairseq keeps on functions, the best value of an earlier training."""
    from fairseq import checkpoint_utils

    for kept in (vars(checkpoint_utils.save_checkpoint), _patience()):
        kept.pop("best", None)
        kept.pop("num_runs", None)


def _patience() -> dict[str, Any]:
    """The best value and the number of validations since, which fairseq keeps on a function."""
    for program in ("__main__", "fairseq_cli.train"):
        function = getattr(sys.modules.get(program), "should_stop_early", None)
        if function is not None:
            return vars(function)
    return {}


def keep_patience(trainer: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Continue the count of validations without progress, which fairseq does not save."""
    count = _patience()
    count.update((name, known[name]) for name in ("best", "num_runs") if name in known)

    def saving(save: Callable[..., Any], filename: str, extra_state: dict[str, Any]) -> Any:
        return save(filename, {**extra_state, PATIENCE: dict(count)} if count else extra_state)

    wrap(trainer, "save_checkpoint", saving)
    return count


def keep_task(trainer: Any, known: Any) -> None:
    """Store what the task keeps between updates, which fairseq saves but does not load."""
    task = trainer.task
    if not hasattr(task, "training_state"):
        return
    if known:
        task.load_training_state(known)

    def saving(save: Callable[..., Any], filename: str, extra_state: dict[str, Any]) -> Any:
        return save(filename, {**extra_state, TASK: task.training_state()})

    wrap(trainer, "save_checkpoint", saving)
