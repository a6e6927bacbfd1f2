"""Checkpoints of fairseq's trainer: written whole, and resumed from one that is whole.

fairseq writes one checkpoint and copies it over ``checkpoint_last.pt`` and
``checkpoint_best.pt`` in place; a training that is killed during the copy leaves them torn. Here
every file appears by renaming. A torn ``checkpoint_last.pt`` from elsewhere (another program, a
disk that broke) does not end a training either: the newest intact checkpoint beside it is taken.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from fairseq_struct.errors import DamagedCheckpoint, InputError
from fairseq_struct.files.whole_files import whole_file

logger = logging.getLogger(__name__)

LAST = "checkpoint_last.pt"  # what --restore-file is, unless the user says otherwise
# The names that fairseq gives to the checkpoints of a training.
NAMES = re.compile(r"checkpoint(\d+|_\d+_\d+|_best|_last|\.best_.+)\.pt")
# Where a checkpoint keeps the validations without progress.
PATIENCE = "patience"
# The file that another may stand in for; set while a training looks for its own last checkpoint.
_replaceable: ContextVar[str | None] = ContextVar("replaceable", default=None)


def install(checkpoint_utils: ModuleType, load_state: Callable[[Path], dict[str, Any]]) -> None:
    """Put the functions of this file in the place of fairseq's.

    Args:
        checkpoint_utils: ``fairseq.checkpoint_utils``, whose loading raises ``DamagedCheckpoint``.
        load_state: reads a checkpoint and raises the same.
    """
    manager = checkpoint_utils.PathManager
    checkpoint_utils.torch_persistent_save = _saving_whole(
        checkpoint_utils.torch_persistent_save, manager
    )
    manager.copy = staticmethod(_copying_whole(manager.copy, manager))
    checkpoint_utils.load_checkpoint_to_cpu = _stepping_back(
        checkpoint_utils.load_checkpoint_to_cpu, load_state
    )
    checkpoint_utils.load_checkpoint = _resuming(checkpoint_utils.load_checkpoint, manager)
    from fairseq.tasks import FairseqTask

    FairseqTask.get_batch_iterator = _same_batches(FairseqTask.get_batch_iterator)


def newest_intact(
    folder: Path, load_state: Callable[[Path], dict[str, Any]], but: str = ""
) -> Path | None:
    """The readable checkpoint of a training with the most updates, None where there is none.

    Args:
        folder: the training's ``--save-dir``.
        load_state: reads a checkpoint; raises ``InputError`` if it cannot.
        but: leave out the file of this name.
    """
    found = []
    for path in sorted(folder.iterdir()):
        if path.name == but or not NAMES.fullmatch(path.name):
            continue
        try:
            state = load_state(path)
            found.append((int(state["optimizer_history"][-1]["num_updates"]), path))
        except (LookupError, TypeError, ValueError):  # an InputError is one of these
            continue
    return max(found)[1] if found else None


def _saving_whole(original: Callable[..., Any], manager: type) -> Callable[..., Any]:
    @functools.wraps(original)
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        if manager.path_requires_pathmanager(filename):  # no file of this machine
            return original(obj, filename, async_write)
        import torch

        # Once: fairseq tries thrice into the same file, behind what the failed try has left.
        with whole_file(filename, through_link=False) as file:
            torch.save(obj, file)

    return torch_persistent_save


def _copying_whole(original: Callable[..., Any], manager: type) -> Callable[..., Any]:
    @functools.wraps(original)
    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if any(map(manager.path_requires_pathmanager, (src_path, dst_path))):
            return original(src_path, dst_path, overwrite)
        # A link, to another checkpoint perhaps, is replaced, and what it leads to stays.
        with open(src_path, "rb") as source, whole_file(dst_path, through_link=False) as target:
            shutil.copyfileobj(source, target)
        return True

    return copy


def _stepping_back(original: Callable[..., Any], load_state) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_checkpoint_to_cpu(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(path, *args, **kwargs)
        except DamagedCheckpoint as error:
            if path != _replaceable.get():
                raise
            folder = Path(path).parent
            other = newest_intact(folder, load_state, but=Path(path).name)
            if other is None:
                raise InputError(
                    f"{error}; {folder} has no other checkpoint that is intact (move this one away"
                    " to train from the beginning)"
                ) from None
            logger.warning(f"{error}; going on from {other}, the newest one that is intact")
        return original(str(other), *args, **kwargs)

    return load_checkpoint_to_cpu


def _resuming(original: Callable[..., Any], manager: type) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough: Any) -> Any:
        suffix = trainer.checkpoint_suffix
        last = os.path.join(cfg.save_dir, f"checkpoint_last{suffix}.pt")
        begins = not manager.exists(last)
        _require_what_is_named(cfg, suffix, begins, manager)
        if getattr(cfg, "write_checkpoints_asynchronously", False):
            logger.warning("checkpoints are written before training goes on, lest a kill tear them")
            cfg.write_checkpoints_asynchronously = False
        # The parts of a sharded checkpoint belong together: no other may stand in for one.
        token = _replaceable.set(last if cfg.restore_file == LAST and not suffix else None)
        try:
            extra_state, epoch_itr = original(cfg, trainer, **passthrough)
        finally:
            _replaceable.reset(token)
        goes_on = extra_state is not None and not (
            cfg.reset_meters or cfg.reset_optimizer or (begins and cfg.finetune_from_model)
        )
        count = _keep_patience(trainer, extra_state.get(PATIENCE, {}) if goes_on else {})
        if 0 < getattr(cfg, "patience", -1) <= count.get("num_runs", 0):
            _stop(trainer, f"no progress in {cfg.patience} validations (--patience)")
        _stop_at_the_last_update(trainer)
        return extra_state, epoch_itr

    return load_checkpoint


def _keep_patience(trainer: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Let the count of validations without progress go on, which fairseq forgets."""
    count: dict[str, Any] = {}
    for program in ("__main__", "fairseq_cli.train"):
        # It keeps the count on the function that counts.
        function = getattr(sys.modules.get(program), "should_stop_early", None)
        if function is not None:
            count = vars(function)
            break
    count.update((name, known[name]) for name in ("best", "num_runs") if name in known)
    save = trainer.save_checkpoint

    @functools.wraps(save)
    def save_checkpoint(filename: str, extra_state: dict[str, Any]) -> Any:
        return save(filename, {**extra_state, PATIENCE: dict(count)} if count else extra_state)

    trainer.save_checkpoint = save_checkpoint
    return count


def _same_batches(original: Callable[..., Any]) -> Callable[..., Any]:
    """Batches that serve every epoch are those of the first, also after an interruption.

    fairseq draws them anew, with a seed of the epoch that a resumed training begins with.
    """

    @functools.wraps(original)
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        epoch = kwargs.get("epoch", 1)
        of_one_epoch = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        known = dataset in self.dataset_to_epoch_iter
        if epoch == 1 or of_one_epoch or known or not self.can_reuse_epoch_itr(dataset):
            return original(self, dataset, *args, **kwargs)
        iterator = original(self, dataset, *args, **{**kwargs, "epoch": 1})
        dataset.set_epoch(epoch)
        iterator.epoch = epoch
        return iterator

    return get_batch_iterator


def _require_what_is_named(cfg: Any, suffix: str | None, begins: bool, manager: type) -> None:
    """Missing files are for fairseq no reason to stop; but whoever names one wants that one."""
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
    if not manager.isfile(path):
        inside = os.path.join(cfg.save_dir, path)
        hint = f"; did you mean {inside}?" if manager.isfile(inside) else ""
        raise InputError(f"{path}: no such file ({option}){hint}")


def _stop_at_the_last_update(trainer: Any) -> None:
    """fairseq asks whether the last update was reached only after having made one more."""
    limit, updates = trainer.cfg.optimization.max_update, trainer.get_num_updates()
    if isinstance(limit, int) and 0 < limit <= updates:
        _stop(trainer, f"{updates} updates are made of --max-update {limit}")


def _stop(trainer: Any, why: str) -> None:
    logger.info(f"nothing to train: {why}")
    trainer.cfg.optimization.max_epoch = -1  # 0 means no limit
