"""Scores of a classifier from its confusion table."""

from torch import Tensor


def accuracy(table: Tensor) -> float:
    """Share of correct labels, from 0 to 100.

    Args:
        table: (labels, labels) counts; true labels are rows, predicted labels columns.

    Raises:
        ValueError: the table counts nothing.
    """
    _refuse_nothing(table)
    return 100 * float(table.diagonal().sum().double() / table.sum())


def macro_f1(table: Tensor) -> float:
    """Mean over labels of F1 = 2 hits / (true + predicted), from 0 to 100.

    Labels that are never true and never predicted do not count.

    Args:
        table: as for :func:`accuracy`.

    Raises:
        ValueError: the table counts nothing.
    """
    _refuse_nothing(table)
    hits = table.diagonal().double()
    seen = table.sum(0) + table.sum(1)
    return 100 * float((2 * hits[seen > 0] / seen[seen > 0]).mean())


def _refuse_nothing(table: Tensor):
    if not table.sum() > 0:
        raise ValueError("the score of no predictions is undefined")
