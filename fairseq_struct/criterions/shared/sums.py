"""Sums that criterions log of batches, and the means that are shown of them."""

from fairseq import utils
from fairseq.logging import metrics


class LogsSums:
    """Mixin for a criterion that logs only sums; it precedes ``FairseqCriterion``."""

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """True: all logged values are numbers or tables of numbers."""
        return True


def total(logs: list[dict], name: str):
    """The sum of a value over batches and workers: a number, or a table of numbers.

    Args:
        logs: what the criterion logged of each batch.
        name: of the value; 0 where it is missing.
    """
    return sum(log.get(name, 0) for log in logs)


def log_mean(logs: list[dict], name: str, count, of: str = "", scale: int = 1, round: int = 4):
    """Log a mean over all batches; nothing if they lack the value.

    Args:
        logs: what the criterion logged of each batch.
        name: under which the mean is shown.
        count: what the sum is divided by, which is also the weight of the mean. It is used as it
            is: with several workers a number and a tensor differ in the last bit of the mean.
        of: name of the value (default: ``name``).
        scale: the mean is multiplied by it.
        round: decimal places that are shown.
    """
    of = of or name
    if of in logs[0]:
        value = scale * utils.item(total(logs, of))
        metrics.log_scalar(name, value / count, count, round=round)


def log_percentage(logs: list[dict], name: str, count, of: str = ""):
    """Log a share of ``count`` in %, with two decimal places; else as :func:`log_mean`.

    Args:
        logs: what the criterion logged of each batch.
        name: under which the share is shown.
        count: of all.
        of: name of the value (default: ``name``).
    """
    log_mean(logs, name, count, of, scale=100, round=2)
