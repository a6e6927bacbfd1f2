"""What fairseq's trainer is made to look at before training begins.

That is, whether task, model, criterion and optimizer fit one another, and whether this machine can
train in the number format that is asked for. fairseq would begin, and end in a traceback.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from fairseq_struct.errors import InputError


@functools.cache
def install() -> None:
    """Let fairseq's trainer ask before it does anything; once is enough.

    It calls :func:`check` and, where they are there, the criterion's ``check_model(model)``, the
    model's ``check_criterion(criterion)`` and the optimizer's ``check_task(task, common)``: fairseq
    builds none of them for the other, so that they first see each other here.
    """
    from fairseq.optim import OPTIMIZER_REGISTRY

    trainer = importlib.import_module("fairseq.trainer").Trainer
    begin = trainer.__init__

    @functools.wraps(begin)
    def checked(self, cfg, task, model, criterion, *args, **kwargs):
        common = getattr(cfg, "common", cfg)  # from Python it may be the command line's namespace
        check(common)
        if hasattr(criterion, "check_model"):
            criterion.check_model(model)
        if hasattr(model, "check_criterion"):
            model.check_criterion(criterion)
        optimizer = OPTIMIZER_REGISTRY.get(getattr(getattr(cfg, "optimizer", None), "_name", None))
        if hasattr(optimizer, "check_task"):
            optimizer.check_task(task, common)
        begin(self, cfg, task, model, criterion, *args, **kwargs)

    trainer.__init__ = checked


def check(common) -> None:
    """Refuse what cannot be trained in.

    ``--fp16`` keeps its float32 weights on a CUDA device; ``--bf16`` means a TPU to this fairseq.

    Args:
        common: fairseq's options of that group.

    Raises:
        InputError: the device or the package that an option needs is not there.
    """
    import torch

    if getattr(common, "tpu", False) and importlib.util.find_spec("torch_xla") is None:
        option = "--bf16" if getattr(common, "bf16", False) else "--tpu"
        raise InputError(
            f"{option} is for TPUs in fairseq, and needs the package torch_xla, which is not "
            "installed; CUDA devices have --fp16 and --amp"
        )
    on_cpu = getattr(common, "cpu", False) or not torch.cuda.is_available()
    for name in ("fp16", "bf16"):
        half = getattr(common, name, False) and not getattr(common, "tpu", False)
        own_way = getattr(common, f"memory_efficient_{name}", False)
        if half and on_cpu and not own_way and not getattr(common, "fp16_no_flatten_grads", False):
            why = "--cpu is given" if torch.cuda.is_available() else "there is none here"
            raise InputError(f"--{name} needs a CUDA device, and {why}; without it: float32")
