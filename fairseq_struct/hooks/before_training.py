"""Checks that fairseq's programs make before training begins.

They check whether batches have a size and options have possible values, whether task, model,
criterion and optimizer fit one another, and whether this machine supports the requested number
format and has the packages that log. Without them, fairseq would begin and end in a traceback, or
train without what was asked for.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.hooks import best_checkpoint
from fairseq_struct.hooks.run_numbers import check_numbers
from fairseq_struct.hooks.wrapping import wrap
from fairseq_struct.option_checks import option_name
from fairseq_struct.processor import device_name

logger = logging.getLogger(__name__)

LARGEST_SEED = 2**32 - 1
# fairseq's programs for trained models that meet processes as training does, by their files. All
# but the first set a size of batches themselves.
_VALIDATION = "validate"
_FOR_TRAINED_MODELS = (_VALIDATION, "eval_lm", "interactive")


@functools.cache
def install() -> None:
    """Install the checks in fairseq; calling it again has no effect.

    A program first calls :func:`settle_bfloat16` and :func:`check_run`. The trainer first calls
    :func:`settle_bfloat16`, :func:`check_number_format` and :func:`check_trackers`. Then it calls,
    if they exist, the criterion's ``check_model(model)``, the model's
    ``check_criterion(criterion)`` and ``check_format(common)``, and the optimizer's
    ``check_task(task, cfg)``. fairseq builds these objects independently, so this is the first
    place where they can check each other. Last, if it will validate, it calls
    :func:`.best_checkpoint.watch`. Its log says what it computes with.
    """
    from fairseq.distributed import utils
    from fairseq.trainer import Trainer

    wrap(Trainer, "__init__", _checked)
    wrap(utils, "call_main", _called)


def _checked(
    begin: Callable[..., None], self: Any, cfg: Any, task: Any, model: Any, criterion: Any,
    *args: Any, **kwargs: Any,
) -> None:  # fmt: skip
    from fairseq.optim import OPTIMIZER_REGISTRY

    common = getattr(cfg, "common", cfg)  # Python callers may pass a namespace
    if common is not cfg:
        settle_bfloat16(cfg)
    check_number_format(common)
    check_trackers(common)
    if hasattr(criterion, "check_model"):
        criterion.check_model(model)
    if hasattr(model, "check_criterion"):
        model.check_criterion(criterion)
    if hasattr(model, "check_format"):
        model.check_format(common)
    optimizer = OPTIMIZER_REGISTRY.get(getattr(getattr(cfg, "optimizer", None), "_name", None))
    if hasattr(optimizer, "check_task"):
        optimizer.check_task(task, cfg)
    if getattr(task, "carries_state", False):
        common.amp_batch_retries = 0
    if common is not cfg and not cfg.dataset.disable_validation:
        best_checkpoint.watch(task, criterion, cfg.checkpoint)
    begin(self, cfg, task, model, criterion, *args, **kwargs)
    logger.info("device: %s", device_name(on_cpu=self.device.type == "cpu"))


def _called(
    call: Callable[..., None], cfg: Any, main: Callable[..., Any], **passthrough: Any
) -> None:
    code = getattr(main, "__code__", None)
    settle_bfloat16(cfg)
    check_run(cfg, Path(code.co_filename).stem if code else "")
    call(cfg, main, **passthrough)


def check_run(cfg: Any, program: str = "") -> None:
    """Refuse a run without a model, whose batches have no size, or with impossible values.

    Args:
        cfg: fairseq's configuration of a run.
        program: name of its file. It trains if it is none of fairseq's for trained models.

    Raises:
        InputError: neither ``--batch-size`` nor ``--max-tokens`` in training and validation, no
            ``--path`` where a trained model is needed, a seed out of range, or what
            :func:`.check_numbers` refuses.
    """
    from hydra.core.hydra_config import HydraConfig

    trains = program not in _FOR_TRAINED_MODELS
    if not trains and cfg.common_eval.path is None:
        raise InputError("no trained model: give its checkpoint to --path")
    sized = cfg.dataset.batch_size is not None or cfg.dataset.max_tokens is not None
    if (trains or program == _VALIDATION) and not sized:
        purpose = "training" if trains else "validation"
        size = "--batch-size or --max-tokens"
        if HydraConfig.initialized():  # of fairseq-hydra-train, whose options have other names
            size = "dataset.batch_size or dataset.max_tokens"
        raise InputError(f"{purpose} needs a size of batches: give {size}")
    if cfg.common.seed is not None and not 0 <= cfg.common.seed <= LARGEST_SEED:
        raise InputError(f"--seed must be 0 to {LARGEST_SEED}, not {cfg.common.seed}")
    check_numbers(cfg)


def settle_bfloat16(cfg: Any) -> None:
    """Let ``--bf16`` mean a GPU where there is one and no TPU; in fairseq it implies ``--tpu``.

    Args:
        cfg: fairseq's configuration of a run, of which several groups have a copy of ``tpu``.
    """
    common = cfg.common
    asked = getattr(common, "bf16", False) and getattr(common, "tpu", False)
    if not asked or _on_cpu(common) or _serves_tpus():
        return
    for name in list(cfg if isinstance(cfg, Mapping) else vars(cfg)):
        group = getattr(cfg, name)
        if getattr(group, "tpu", None) is True:
            group.tpu = False


def check_trackers(common) -> None:
    """Refuse to train without the curves that an option asks for; fairseq would only warn.

    Args:
        common: fairseq's option group ``common``.

    Raises:
        InputError: the package that an option needs is missing.
    """
    from fairseq.logging import progress_bar as bars

    for option, extra, package in (
        ("wandb_project", "wandb", bars.wandb),
        ("tensorboard_logdir", "tensorboard", bars.SummaryWriter),
    ):
        if getattr(common, option, None) and package is None:
            raise InputError(
                f"{option_name(option)} needs a package that is not installed: "
                f"pip install 'fairseq-struct[{extra}]'"
            )


def check_number_format(common) -> None:
    """Refuse number formats that this machine cannot train in.

    ``--fp16`` and ``--bf16`` keep their float32 weights on a CUDA device, and ``--amp`` converts
    there alone; elsewhere it would only write checkpoints that need it to go on.

    Args:
        common: fairseq's option group ``common``.

    Raises:
        InputError: the device or the package that an option needs is missing.
    """
    tpu = getattr(common, "tpu", False)
    bf16 = getattr(common, "bf16", False)
    if tpu and _serves_tpus():
        return
    if tpu and not bf16:
        raise InputError(
            "--tpu is for TPUs and needs the package torch_xla, which is not installed"
        )
    for name in ("fp16", "bf16"):
        ways = f"memory_efficient_{name}", "fp16_no_flatten_grads"
        works_on_cpus = any(getattr(common, way, False) for way in ways) and not tpu
        if getattr(common, name, False) and not works_on_cpus:
            _needs_a_gpu(name, common)
    if getattr(common, "amp", False):
        _needs_a_gpu("amp", common)


def _needs_a_gpu(name: str, common) -> None:
    import torch

    if _on_cpu(common):
        why = "--cpu is given" if torch.cuda.is_available() else "none was found"
        tpu = " (or a TPU and the package torch_xla)" if getattr(common, "tpu", False) else ""
        raise InputError(f"--{name} needs a CUDA device{tpu}, but {why}; drop it to use float32")


def _on_cpu(common) -> bool:
    import torch

    return getattr(common, "cpu", False) or not torch.cuda.is_available()


def _serves_tpus() -> bool:
    return importlib.util.find_spec("torch_xla") is not None
