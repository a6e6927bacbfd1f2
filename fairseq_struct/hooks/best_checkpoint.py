"""Checks of ``--best-checkpoint-metric``: that it exists, and that its best value is the best.

fairseq keeps the checkpoint with the lowest value unless ``--maximize-best-checkpoint-metric`` is
given: of a score, that is the worst one. It looks for the value after the first epoch, and a wrong
name ends in a ``KeyError`` then.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any

from fairseq_struct.errors import InputError, suggestion

OPTION, SWITCH = "--best-checkpoint-metric", "--maximize-best-checkpoint-metric"
# What this package and fairseq's translation log in validation, without prefixes and endings.
LOWER = frozenset(("loss", "ppl", "energy", "pointer_entropy"))
HIGHER = frozenset(
    (
        "accuracy", "alignment", "bleu", "exact_match", "f1", "macro_f1", "modifier_count",
        "modifier_list", "nmi", "return", "spearman", "success", "uas", "uuas", "v_measure",
        "window",
    )
)  # fmt: skip
_ENDINGS = re.compile(r"_(argmax|argmax_root|tolerance_1|tolerance_1_threshold|inner)$")
EVERYWHERE = re.compile(r"(^|_)(loss|accuracy)$|^(bleu|ppl)$")
# Statistics of the trainer, which nobody means.
_OF_THE_TRAINER = frozenset(("bsz", "num_updates", "ups", "wpb", "wps"))


def is_higher_better(metric: str) -> bool | None:
    """Whether a higher value is better; None for a name that this package does not know.

    Args:
        metric: a name as fairseq logs it, such as ``nll_loss``, ``uas_argmax`` or ``window_2``.
    """
    name = "window" if metric.startswith("window_") else _ENDINGS.sub("", metric)
    last = name.rsplit("_", 1)[-1]
    if name in HIGHER or last == "accuracy":
        return True
    return False if name in LOWER or last == "loss" else None


def check_direction(checkpoint, ours: bool = True) -> None:
    """Refuse to keep the worst checkpoint as the best.

    Args:
        checkpoint: fairseq's option group.
        ours: whether the criterion is one of this package. Of others only the names that mean the
            same everywhere are known.

    Raises:
        InputError: ``--maximize-best-checkpoint-metric`` is given for a loss, or not for a score.
    """
    metric, highest = checkpoint.best_checkpoint_metric, checkpoint.maximize_best_checkpoint_metric
    higher = is_higher_better(metric) if ours or EVERYWHERE.search(metric) else None
    if higher is None or higher == highest:
        return
    if higher:
        raise InputError(f"{OPTION} {metric} is better the higher it is: give {SWITCH}, too")
    without = SWITCH.replace("--", "--no-", 1)
    raise InputError(
        f"{OPTION} {metric} is better the lower it is, but {SWITCH} is given "
        f"(that of a preset goes by {without})"
    )


def watch(task: Any, criterion: Any, checkpoint) -> None:
    """Refuse a metric that validation does not log: now if that is known, or when it ends.

    Args:
        task: fairseq's task, whose ``post_validate`` then looks for the metric.
        criterion: the criterion.
        checkpoint: fairseq's option group.

    Raises:
        InputError: as for :func:`check_direction`; the task says so (``check_metric(metric)``), a
            translation is not to be scored by BLEU, or the criterion is one of this package and
            the name is only similar to one of its metrics.
    """
    metric = checkpoint.best_checkpoint_metric
    ours = type(criterion).__module__.startswith("fairseq_struct.")
    check_direction(checkpoint, ours)
    if metric == "bleu" and not getattr(getattr(task, "cfg", None), "eval_bleu", True):
        raise InputError(f"{OPTION} bleu needs --eval-bleu")
    if hasattr(task, "check_metric"):
        task.check_metric(metric)
    meant = suggestion(metric.lower(), HIGHER | LOWER)
    if ours and is_higher_better(metric) is None and meant:
        raise InputError(f"{OPTION} {metric}: validation has no such value{meant}")
    before = getattr(task, "post_validate", None)
    found = False

    @functools.wraps(before or watch)
    def post_validate(model, stats, aggregator):
        nonlocal found
        if before is not None:
            before(model, stats, aggregator)
        if not found:
            check_metric(metric, stats)
            found = True
        # fairseq also reads it of further subsets, such as one without a treebank, to no purpose.
        stats.setdefault(metric, math.nan)

    task.post_validate = post_validate


def check_metric(metric: str, stats: dict[str, Any]) -> None:
    """Refuse a metric that is not among the values of a validation.

    Args:
        metric: ``--best-checkpoint-metric``.
        stats: the values by name.

    Raises:
        InputError: it is missing.
    """
    if metric in stats:
        return
    names = sorted(
        name for name in stats
        if name not in _OF_THE_TRAINER and not name.startswith(("best_", "confusion_"))
    )  # fmt: skip
    raise InputError(f"{OPTION} {metric}: validation has {', '.join(names)}")
