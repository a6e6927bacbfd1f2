"""Rows of numbers from all workers, for scores that are not sums."""

import torch
from torch import Tensor


def rows_among_workers(rows: Tensor, most: int) -> Tensor:
    """This worker's rows in a table that has room for those of all workers.

    fairseq adds up what its workers log of a step. The sum of these tables has the rows of all of
    them, and needs no message of its own; a worker without a batch, whose numbers fairseq takes for
    0, adds none.

    Args:
        rows: (n, columns).
        most: of rows of a worker, the same on all workers.

    Returns:
        (workers * most, columns + 1), the last column 1 where there is a row.

    Raises:
        ValueError: there are more rows than that.
    """
    count = len(rows)
    if count > most:
        raise ValueError(f"{count} rows, where {most} were said to be the most")
    first, workers = 0, 1
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        first, workers = torch.distributed.get_rank() * most, torch.distributed.get_world_size()
    table = rows.new_zeros(workers * most, rows.size(1) + 1)
    table[first : first + count, :-1] = rows
    table[first : first + count, -1] = 1
    return table


def present_rows(table: Tensor) -> Tensor:
    """The rows (n, columns) in a table, or a sum of tables, of :func:`rows_among_workers`."""
    return table[table[:, -1] > 0, :-1]
