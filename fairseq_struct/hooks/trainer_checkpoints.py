"""Safe checkpoints of fairseq's trainer: it writes whole files, and resumes from an intact file.

fairseq writes one checkpoint and copies it over ``checkpoint_last.pt`` and ``checkpoint_best.pt``
in place. If the training is killed during the copy, these files are truncated. Here every file
appears by renaming. ``checkpoint_last.pt`` may still be damaged by another program or a broken
disk. Then training resumes from the newest intact checkpoint in the same folder.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import shutil
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from fairseq_struct import compat
from fairseq_struct.errors import DamagedCheckpoint, InputError
from fairseq_struct.files.checkpoint_file import write_checkpoint
from fairseq_struct.files.checkpoint_names import ANY, LAST
from fairseq_struct.files.text_files import reading
from fairseq_struct.files.trained_data import with_whole_paths
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.hooks.kept_counts import (
    PATIENCE,
    TASK,
    forget_other_trainings,
    keep_patience,
    keep_task,
)
from fairseq_struct.hooks.wrapping import wrap
from fairseq_struct.option_checks import option_name

logger = logging.getLogger(__name__)

# Options of number formats, by the optimizer with which fairseq wraps that of --optimizer for them.
FORMATS = {
    "FP16Optimizer": "--fp16 or --bf16",
    "MemoryEfficientFP16Optimizer": "--memory-efficient-fp16 or --memory-efficient-bf16",
    "AMPOptimizer": "--amp",
}
RESETS = ("reset_optimizer", "reset_lr_scheduler", "reset_meters", "reset_dataloader")
# The file that another checkpoint may replace; set while a training loads its last checkpoint.
_replaceable: ContextVar[str | None] = ContextVar("replaceable", default=None)


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    from fairseq import checkpoint_utils as utils
    from fairseq.tasks import FairseqTask

    wrap(utils, "torch_persistent_save", _saving_whole)
    wrap(utils.PathManager, "copy", _copying_whole)
    wrap(utils, "load_checkpoint_to_cpu", _stepping_back)
    wrap(utils, "load_checkpoint", _resuming)
    wrap(utils, "checkpoint_paths", _also_below_zero)
    wrap(FairseqTask, "get_batch_iterator", _same_batches)


def _manager() -> type:
    """fairseq's way to files, which may be elsewhere."""
    from fairseq.checkpoint_utils import PathManager

    return PathManager


def newest_intact(folder: Path, but: str = "") -> Path | None:
    """The readable checkpoint of a training with the most updates; None if there is none.

    Args:
        folder: the ``--save-dir`` of the training.
        but: name of a file to leave out.
    """
    found = []
    for path in sorted(folder.iterdir()):
        if path.name == but or not ANY.fullmatch(path.name):
            continue
        try:
            state = compat.load_state(path)
            found.append((int(state["optimizer_history"][-1]["num_updates"]), path))
        except (LookupError, TypeError, ValueError):  # InputError is a ValueError
            continue
    return max(found)[1] if found else None


def _saving_whole(
    original: Callable[..., Any], obj: Any, filename: str, async_write: bool = False
) -> None:
    if _manager().path_requires_pathmanager(filename):  # not a local file
        return original(obj, filename, async_write)
    # One attempt: fairseq makes three, each appending to the rest of the failed attempt.
    write_checkpoint(obj, filename, through_link=False)


def _copying_whole(
    original: Callable[..., Any], src_path: str, dst_path: str, overwrite: bool = False
) -> bool:
    if any(map(_manager().path_requires_pathmanager, (src_path, dst_path))):
        return original(src_path, dst_path, overwrite)
    # A link, perhaps to another checkpoint, is replaced; its target is unchanged.
    with reading(src_path), open(src_path, "rb") as source, whole_file(dst_path, False) as to:
        shutil.copyfileobj(source, to)
    return True


def _stepping_back(original: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    try:
        return original(path, *args, **kwargs)
    except DamagedCheckpoint as error:
        if path != _replaceable.get():
            raise
        folder = Path(path).parent
        other = newest_intact(folder, but=Path(path).name)
        if other is None:
            raise InputError(
                f"{error}; {folder} has no other intact checkpoint (move this one away"
                " to train from the beginning)"
            ) from None
        logger.warning(f"{error}; continuing from {other}, the newest intact checkpoint")
    return original(str(other), *args, **kwargs)


def _resuming(original: Callable[..., Any], cfg: Any, trainer: Any, **passthrough: Any) -> Any:
    suffix = trainer.checkpoint_suffix
    last = os.path.join(cfg.save_dir, f"checkpoint_last{suffix}.pt")
    begins = not _manager().exists(last)
    _require_what_is_named(cfg, suffix, begins)
    if getattr(cfg, "write_checkpoints_asynchronously", False):
        logger.warning(
            "--write-checkpoints-asynchronously is ignored: a killed run could leave a damaged "
            "checkpoint"
        )
        cfg.write_checkpoints_asynchronously = False
    # The parts of a sharded checkpoint belong together: no other file can replace one.
    token = _replaceable.set(last if cfg.restore_file == LAST and not suffix else None)
    forget_other_trainings()
    try:
        extra_state, epoch_itr = original(cfg, trainer, **passthrough)
    except RuntimeError as error:
        if "dataloader mismatch" not in str(error):
            raise
        raise InputError(
            f"{cfg.restore_file}: it stopped in the middle of an epoch, which now has too few "
            "batches (of another size, or for more processes); --reset-dataloader counts "
            "epochs from 1 again, and keeps the weights and the optimizer"
        ) from error
    except Exception as error:
        told = _other_optimizer(str(error)) or _other_model(error)
        if told is None:
            raise
        first = getattr(cfg, "continue_once", None) or cfg.finetune_from_model
        first = first if begins else last
        file = first if cfg.restore_file == LAST else cfg.restore_file
        raise InputError(f"{file}: {told}") from error
    finally:
        _replaceable.reset(token)
    goes_on = extra_state is not None and not (
        cfg.reset_optimizer or (begins and cfg.finetune_from_model)
    )
    counts = goes_on and not cfg.reset_meters
    count = keep_patience(trainer, extra_state.get(PATIENCE, {}) if counts else {})
    keep_task(trainer, extra_state.get(TASK) if goes_on else None)
    wrap(trainer, "state_dict", _with_whole_paths)
    if 0 < getattr(cfg, "patience", -1) <= count.get("num_runs", 0):
        _stop(trainer, f"no progress in {cfg.patience} validations (--patience)")
    _stop_at_the_last_update(trainer)
    return extra_state, epoch_itr


def _other_optimizer(message: str) -> str | None:
    """What to do about the optimizer of a checkpoint, of fairseq's message that it is another."""
    from fairseq.optim import OPTIMIZER_REGISTRY

    found = re.search(r"Optimizer does not match.* (\w+) vs (\w+)$", message)
    if found is None:
        return None
    had, has = found.groups()
    new = "--reset-optimizer begins with a new optimizer"
    if has in FORMATS and had not in FORMATS:
        return f"it was trained without {FORMATS[has]}; leave that out, or {new}"
    names = [name for name, kind in OPTIMIZER_REGISTRY.items() if kind.__name__ == had]
    option = FORMATS.get(had, f"--optimizer {names[0]}" if names else "another optimizer")
    return f"it was trained with {option}; give the same, or {new}"


def _other_model(error: Exception) -> str | None:
    """What differs in the model of a checkpoint, of fairseq's error that it cannot be loaded."""
    if not str(error).startswith("Cannot load model parameters"):
        return None
    cause = error.__context__  # fairseq tells whatever happens there in the same words
    if isinstance(cause, InputError):
        return str(cause)
    lines = str(cause or "").splitlines()
    if not lines or not lines[0].startswith("Error(s) in loading state_dict"):
        return None
    return f"its model is another one ({lines[-1].strip()})"


def _also_below_zero(
    original: Callable[..., Any], path: str, pattern: str = r"checkpoint(\d+)\.pt", **kwargs: Any
) -> Any:
    """Find checkpoints named after a negative value, for ``--keep-best-checkpoints``."""
    return original(path, pattern.replace(r"_(\d+\.?\d*)", r"_(-?\d+\.?\d*)"), **kwargs)


def _with_whole_paths(original: Callable[..., Any]) -> dict[str, Any]:
    """Store absolute paths, so that the data are found from any folder."""
    state = original()
    if isinstance(state["cfg"], dict):
        state["cfg"] = with_whole_paths(state["cfg"])
    return state


def _same_batches(
    original: Callable[..., Any], self: Any, dataset: Any, *args: Any, **kwargs: Any
) -> Any:
    """Keep the batches of the first epoch after an interruption, if all epochs share batches.

    fairseq would draw different batches, with the seed of the epoch in which training resumes.
    """
    epoch = kwargs.get("epoch", 1)
    of_one_epoch = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
    known = dataset in self.dataset_to_epoch_iter
    if epoch == 1 or of_one_epoch or known or not self.can_reuse_epoch_itr(dataset):
        return original(self, dataset, *args, **kwargs)
    iterator = original(self, dataset, *args, **{**kwargs, "epoch": 1})
    dataset.set_epoch(epoch)
    iterator.epoch = epoch
    return iterator


def _require_what_is_named(cfg: Any, suffix: str | None, begins: bool) -> None:
    """Refuse a missing file that the user names, and options that fairseq would not combine.

    fairseq would ignore that the file is missing.
    """
    resets = [name for name in RESETS if getattr(cfg, name)]
    if cfg.finetune_from_model is not None and resets:
        raise InputError(
            f"--finetune-from-model takes nothing but the weights: drop {option_name(resets[0])}"
        )
    if cfg.restore_file != LAST:
        option, path = "--restore-file", cfg.restore_file.replace(".pt", f"{suffix or ''}.pt")
    elif not begins:
        return
    elif getattr(cfg, "continue_once", None) is not None:
        option, path = "--continue-once", cfg.continue_once
    elif cfg.finetune_from_model is not None:
        option, path = "--finetune-from-model", cfg.finetune_from_model
    else:
        return
    if not _manager().isfile(path):
        inside = os.path.join(cfg.save_dir, path)
        hint = f"; did you mean {inside}?" if _manager().isfile(inside) else ""
        raise InputError(f"{path}: no such file ({option}){hint}")


def _stop_at_the_last_update(trainer: Any) -> None:
    """Stop if the last update is reached; fairseq checks this only after one more update."""
    limit, updates = trainer.cfg.optimization.max_update, trainer.get_num_updates()
    if isinstance(limit, int) and 0 < limit <= updates:
        _stop(trainer, f"{updates} updates are done, and --max-update is {limit}")


def _stop(trainer: Any, why: str) -> None:
    logger.info(f"nothing to train: {why}")
    trainer.cfg.optimization.max_epoch = -1  # 0 means no limit
