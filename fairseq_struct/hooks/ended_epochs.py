"""Processes that read batches (``--num-workers``) end with the epoch they read for.

A task whose epochs have different batches starts new processes in every epoch, and fairseq asks
PyTorch's loader to keep the old ones for another epoch that never comes. They would live until
Python collects circular garbage, and then the training would wait five seconds for each of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fairseq_struct.hooks.wrapping import wrap


@functools.cache
def install() -> None:
    """Keep only processes that read further epochs; calling it again has no effect."""
    from fairseq.tasks import FairseqTask

    wrap(FairseqTask, "get_batch_iterator", _ending)


def _ending(
    original: Callable[..., Any], self: Any, dataset: Any, *args: Any, **kwargs: Any
) -> Any:
    iterator = original(self, dataset, *args, **kwargs)
    if self.dataset_to_epoch_iter.get(dataset) is not iterator:  # not kept for further epochs
        iterator.persistent_workers = False
    return iterator
