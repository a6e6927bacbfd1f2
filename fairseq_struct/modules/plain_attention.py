"""Attention without torch's kernel for evaluation."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_inside = 0  # threads, and what torch was set to before the first of them
_before = True


@contextmanager
def plain_attention() -> Iterator[None]:
    """Leave out torch's kernel for evaluation, in the whole process while any thread is inside.

    On CPUs, it takes several times as long for long sentences, and keeps all weights of a batch.
    """
    global _inside, _before
    kernels = torch.backends.mha
    with _lock:
        if _inside == 0:
            _before = kernels.get_fastpath_enabled()
            kernels.set_fastpath_enabled(False)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                kernels.set_fastpath_enabled(_before)
