"""Checks of values that fairseq's own options take, before training begins.

Without them, fairseq ends in a division by zero, or evaluates a text as Python, or trains nothing
and says that it is done.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable
from typing import Any

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.option_checks import option_name

# The least value of each option, by fairseq's groups.
LEAST = {
    "common": {"log_interval": 1},
    "dataset": {
        "batch_size": 0, "batch_size_valid": 0, "max_tokens": 0, "max_tokens_valid": 0,
        "num_workers": 0, "validate_interval": 1,
    },
    "optimization": {"max_epoch": 0, "max_update": 0, "update_freq": 1},
    "checkpoint": {"save_interval": 1},
    "lr_scheduler": {"warmup_updates": 0},
    "optimizer": {"weight_decay": 0},
}  # fmt: skip
# Pairs of limits of a batch, one of which there has to be.
SIZES = (("batch_size", "max_tokens"), ("batch_size_valid", "max_tokens_valid"))
JSON_OPTIONS = ("eval_bleu_args", "eval_bleu_detok_args")


def check_numbers(cfg: Any) -> None:
    """Refuse values with which a run cannot work.

    Args:
        cfg: fairseq's configuration of a run.

    Raises:
        InputError: a number is too low or not finite, or an option has to be a pair of numbers or
            a JSON object and is not, or names an unknown tokenizer.
    """
    for group, options in LEAST.items():
        for name, least in options.items():
            for value in _numbers(getattr(getattr(cfg, group, None), name, None)):
                if not least <= value < math.inf:
                    raise InputError(f"{option_name(name)} must be {least} or more, not {value:g}")
    for names in SIZES:
        sizes = [getattr(getattr(cfg, "dataset", None), name, None) for name in names]
        if not any(sizes) and 0 in sizes:  # 0 is no limit
            name = option_name(names[sizes.index(0)])
            raise InputError(f"{name} must be 1 or more, not 0, where nothing else limits batches")
    _check_rates(getattr(cfg, "optimization", None))
    _check_betas(getattr(getattr(cfg, "optimizer", None), "adam_betas", None))
    task = getattr(cfg, "task", None)
    if getattr(task, "eval_bleu", False):
        _check_scoring(task)


def _numbers(value: Any) -> list[float]:
    """The numbers of an option that takes one or several; none if it is not given."""
    if value is None or isinstance(value, str):
        return []
    return list(value) if isinstance(value, Iterable) else [value]


def _check_rates(optimization: Any) -> None:
    """Refuse a first learning rate at which fairseq would stop before the first update."""
    stop = getattr(optimization, "stop_min_lr", -1.0)
    rates = _numbers(getattr(optimization, "lr", None))
    for number, rate in enumerate(rates):
        if not math.isfinite(rate):
            raise InputError(f"--lr must be finite, not {rate:g}")
        if number == 0 and rate <= stop:
            raise InputError(f"--lr must be above --stop-min-lr, {stop:g}, not {rate:g}")
    if math.isnan(getattr(optimization, "clip_norm", 0.0)):
        raise InputError("--clip-norm must be a number, not nan")


def _check_betas(betas: Any) -> None:
    """Refuse what is not a pair of decays; fairseq would evaluate it as Python."""
    try:
        found = ast.literal_eval(betas) if isinstance(betas, str) else betas
        right = found is None or (len(found) == 2 and all(0 <= beta < 1 for beta in found))
    except (ValueError, SyntaxError, TypeError):
        right = False
    if not right:
        raise InputError(
            f"--adam-betas must be two numbers of 0 or more, below 1, such as '(0.9, 0.98)', not "
            f"{betas!r}"
        )


def _check_scoring(task: Any) -> None:
    """Refuse settings of the BLEU of validation that fairseq could not read."""
    from fairseq.data.encoders import TOKENIZER_REGISTRY

    for name in JSON_OPTIONS:
        given = getattr(task, name, None)
        try:
            right = given is None or isinstance(json.loads(given), dict)
        except ValueError:
            right = False
        if not right:
            raise InputError(f"{option_name(name)} must be a JSON object, not {given!r}")
    tokenizer = getattr(task, "eval_bleu_detok", None)
    if tokenizer is not None and tokenizer not in TOKENIZER_REGISTRY:
        raise InputError(
            f"--eval-bleu-detok: {unknown_name('tokenizer', tokenizer, TOKENIZER_REGISTRY)}"
        )
