"""Processes that ``torchrun`` starts train one model together, on GPUs or on CPUs.

fairseq looks at ``torchrun``'s variables only where ``--distributed-world-size`` is above 1, and
its default is the number of visible GPUs. On machines with one GPU each, or none, every process
would train a model of its own in the same folder. It also counts GPUs to number processes, which
fails where there is none, and names a device to ``DistributedDataParallel``, which takes one for
GPUs alone. Processes that ``torchrun --max-restarts`` starts again meet at the store of those that
have ended, and would take their addresses for their own.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairseq_struct.errors import InputError
from fairseq_struct.hooks.wrapping import wrap

if TYPE_CHECKING:
    from torch.distributed import Store

# What torchrun sets for each process.
_PLACE = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_ENVIRONMENT = "env"  # PyTorch's way to meet by these variables
_AGAIN = "again"  # the same, for processes that were started again


@functools.cache
def install() -> None:
    """Replace fairseq's functions by those of this file; calling it again has no effect."""
    from fairseq.distributed import utils
    from fairseq.models import distributed_fairseq_model as models

    wrap(utils, "infer_init_method", _as_torchrun_says)
    models.DistributedDataParallel = _without_device(models.DistributedDataParallel)
    wrap(utils, "call_main", _placed)


def _placed(original: Callable[..., None], cfg: Any, *args: Any, **passthrough: Any) -> None:
    if cfg.common.cpu or not _gpus():
        _on_cpus(cfg.distributed_training)
    original(cfg, *args, **passthrough)


def _as_torchrun_says(
    original: Callable[..., None], cfg: Any, force_distributed: bool = False
) -> None:
    if _processes() > 1:  # above 1, fairseq finds the rest in the variables
        cfg.distributed_world_size = _processes()
    original(cfg, force_distributed)
    if cfg.distributed_init_method == f"{_ENVIRONMENT}://":
        cfg.distributed_init_method = _way_to_meet()


def _on_cpus(cfg: Any) -> None:
    """Say how processes on CPUs meet, if ``torchrun`` started this one."""
    if _processes() < 2 or cfg.distributed_init_method is not None:
        return
    cfg.distributed_init_method = _way_to_meet()
    cfg.distributed_world_size, cfg.distributed_rank = _processes(), _number("RANK", 0)
    cfg.distributed_no_spawn, cfg.device_id = True, _number("LOCAL_RANK", 0)
    if cfg.distributed_backend == "nccl":  # the default, which is for GPUs alone
        cfg.distributed_backend = "gloo"


def _way_to_meet() -> str:
    """How processes meet, as an address.

    On several machines, torchrun does not tell each how often the others were started, so that
    ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` is needed there.
    """
    one_machine = _number("LOCAL_WORLD_SIZE", 0) == _processes()
    if not (one_machine and _number("TORCHELASTIC_RESTART_COUNT", 0)):
        return f"{_ENVIRONMENT}://"
    from torch.distributed.rendezvous import register_rendezvous_handler

    with suppress(RuntimeError):  # it is registered already
        register_rendezvous_handler(_AGAIN, _meet_again)
    return f"{_AGAIN}://"


def _meet_again(url: str, *args: Any, **options: Any) -> Iterator[tuple[Store, int, int]]:
    """Meet as by the variables, apart from what earlier processes have stored."""
    from torch.distributed import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    start = f"start {_number('TORCHELASTIC_RESTART_COUNT', 0)}"
    address = url.replace(_AGAIN, _ENVIRONMENT, 1)
    for store, rank, processes in rendezvous(address, *args, **options):
        yield PrefixStore(start, store), rank, processes


def _without_device(original: type) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def distributed(module: Any, *args: Any, **options: Any) -> Any:
        if all(parameter.device.type == "cpu" for parameter in module.parameters()):
            options.update(device_ids=None, output_device=None)
        return original(module, *args, **options)

    return distributed


def started_by_torchrun() -> bool:
    """Whether this is one of several processes of ``torchrun``: the environment says where."""
    return all(name in os.environ for name in _PLACE)


def _processes() -> int:
    """How many processes ``torchrun`` started; 1 without it."""
    return _number("WORLD_SIZE", 1) if started_by_torchrun() else 1


def _number(name: str, default: int) -> int:
    value = os.environ.get(name)
    if value is None:
        return default
    if not value.isdecimal():
        raise InputError(f"the environment's {name} must be a number, not {value!r}")
    return int(value)


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()
