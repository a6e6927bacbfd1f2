"""What a checkpoint says of its training, without paths of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

# Groups of fairseq's options, and those of them that tell a reader how a model was trained.
OPTIONS = {
    "dataset": ("max_tokens", "batch_size"),
    "optimization": ("lr", "clip_norm", "update_freq", "max_epoch", "max_update"),
    "criterion": ("_name", "label_smoothing"),
    "optimizer": ("_name", "weight_decay"),
    "lr_scheduler": ("_name", "warmup_updates"),
    "common": ("fp16",),
}


def training_facts(cfg: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for the model card and for records of results.

    Returns:
        ``seed``; ``updates`` and ``epoch`` so far, one that was begun included; ``best``, with
        ``metric`` and ``value`` of the best validation, or None; ``options``, the most important
        ones by name.
    """
    history = state.get("optimizer_history") or [{}]
    extra = state.get("extra_state") or {}
    options = {}
    for group, names in OPTIONS.items():
        values = cfg.get(group)
        for name in names if isinstance(values, Mapping) else ():
            value = values.get(name)
            if value is not None:
                value = list(value) if not isinstance(value, str | Real) else value
                options[group if name == "_name" else name] = value
    common = cfg.get("common")
    return {
        "seed": common.get("seed") if isinstance(common, Mapping) else None,
        "updates": int(history[-1].get("num_updates", 0)),
        "epoch": _epoch(extra.get("train_iterator") or {}),
        "best": _best(cfg, extra),
        "options": options,
    }


def _epoch(iterator: Mapping[str, Any]) -> int | None:
    """The last epoch; at its end, fairseq stores the number of the next one."""
    epoch = iterator.get("epoch")
    if epoch is None or iterator.get("iterations_in_epoch") != 0:
        return epoch
    return epoch - 1


def _best(cfg: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any] | None:
    value, group = extra.get("best"), cfg.get("checkpoint")
    if not isinstance(value, Real) or not isinstance(group, Mapping):
        return None
    return {"metric": str(group.get("best_checkpoint_metric")), "value": round(float(value), 4)}
