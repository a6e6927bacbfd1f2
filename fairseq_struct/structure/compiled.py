"""Kernels compiled for the CPU: made at first use, cached on disk, run over a batch by threads.

A kernel is a serial function over the sentences ``first`` .. ``last - 1`` of a batch that works
on numpy arrays and releases Python's lock; several threads run it on different sentences. That is
safe in forked data-loader workers (which start threads of their own) and under concurrent Python
threads, where Numba's own parallel loops are neither.
"""

import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import torch
from numba.core.caching import FunctionCache
from torch import Tensor

# Additions may be reordered, which is what lets a sum be vectorised; NaN and infinity keep their
# meaning, because kernels look for them.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}

# One more thread pays from these many elementary steps on, which take about half a millisecond: it
# has to wake up, and torch's own threads may still be spinning (see ``zeros``).
STEPS_WORTH_A_THREAD = 2.0**21

_used: set[tuple] = set()  # kernels, and the kinds of arguments they are compiled for
_pool: ThreadPoolExecutor | None = None
_pool_threads = 0
_lock = threading.Lock()
_own = threading.local()


class _Cache(FunctionCache):
    """Numba's cache on disk, told apart by the text of all kernels and of this file.

    Numba itself looks at the file of the function only, and would go on using machine code that
    contains functions of other files as they were.
    """

    def _index_key(self, *arguments):
        return (*super()._index_key(*arguments), _text_of_kernels())


@functools.cache
def _text_of_kernels() -> str:
    package = Path(__file__).parent.parent
    files = [Path(__file__), *sorted(package.glob("*/*_kernels.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def compiled(function: Callable) -> Callable:
    """Compile ``function`` at its first call; later processes load it from Numba's cache."""
    dispatcher = numba.njit(function, nogil=True, error_model="numpy", fastmath=REORDERED)
    dispatcher._cache = _Cache(function)
    return dispatcher


class Space(NamedTuple):
    """An array to work in.

    Args:
        shape: its shape.
        dtype: what it holds.
    """

    shape: tuple[int, ...]
    dtype: type = np.float64


def run(kernel: Callable, steps: np.ndarray, *arguments, workspace: Sequence[Space] = ()):
    """Call ``kernel(first, last, *arguments, *workspace)`` on all sentences, by torch's threads.

    Args:
        kernel: a function made by :func:`compiled`.
        steps: (batch,) estimate of the elementary steps that each sentence takes.
        arguments: passed on; the kernel writes its results into arrays among them.
        workspace: arrays to work in; each thread has its own and keeps them, because the system
            takes longer to hand out fresh memory than the kernels to fill it.
    """
    batch = len(steps)
    prepare(kernel, *arguments, workspace=workspace)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    threads = min(batch, threads_for(total[-1]))
    if threads <= 1:
        kernel(0, batch, *arguments, *_workspace(workspace))
        return
    # More parts than threads even out sentences that take longer than estimated.
    shares = np.linspace(0, total[-1], 4 * threads + 1)
    bounds = np.searchsorted(total, shares).clip(0, batch)
    bounds[0], bounds[-1] = 0, batch
    parts = [(int(a), int(b)) for a, b in zip(bounds, bounds[1:], strict=False) if a < b]
    queue = iter(parts)
    queue_lock = threading.Lock()

    def work():
        own = _workspace(workspace)
        while True:
            with queue_lock:
                part = next(queue, None)
            if part is None:
                return
            kernel(*part, *arguments, *own)

    helpers = [_threads(threads - 1).submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        helper.result()


def prepare(kernel: Callable, *arguments, workspace: Sequence[Space] = ()):
    """Compile ``kernel`` for such arguments, and say so if that takes long.

    :func:`run` does so by itself; this is for kernels that are too short to go through it.
    """
    kinds = (kernel, *(a.dtype if isinstance(a, np.ndarray) else type(a) for a in arguments))
    if kinds not in _used:
        with _announcement(kernel):
            kernel(0, 0, *arguments, *_workspace(workspace))
        _used.add(kinds)


def threads_for(steps: float) -> int:
    """How many of torch's threads so many elementary steps are worth."""
    return min(torch.get_num_threads(), int(steps / STEPS_WORTH_A_THREAD) + 1)


def _workspace(spaces: Sequence[Space]) -> list[np.ndarray]:
    """This thread's arrays, the last ones of their kind if those are large enough."""
    kept = _own.__dict__.setdefault("arrays", {})
    found = []
    for place, (shape, dtype) in enumerate(spaces):
        size = int(np.prod(shape))
        if (place, dtype) not in kept or kept[place, dtype].size < size:
            kept[place, dtype] = np.empty(size, dtype)
        found.append(kept[place, dtype][:size].reshape(shape))
    return found


def array(tensor: Tensor, dtype=np.float64) -> np.ndarray:
    """A contiguous array of the tensor's values, sharing its memory where it can."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=dtype)


def zeros(shape: tuple[int, ...]) -> Tensor:
    """Zeros in float64, by numpy.

    After every operation on a larger tensor, torch's threads spin for about a millisecond, waiting
    for another one, and slow down the threads that work here. OMP_WAIT_POLICY=passive in the
    environment spares that altogether.
    """
    return torch.from_numpy(np.zeros(shape))


class _announcement:
    """Say so when a kernel is not in the cache and its compilation takes longer than a second."""

    def __init__(self, kernel: Callable):
        self.kernel = kernel
        self.timer = threading.Timer(1.0, self.say)
        self.timer.daemon = True

    def say(self):
        if self.kernel.stats.cache_misses:
            sys.stderr.write(
                "fairseq-struct: compiling kernels for this machine (once, then cached) ...\n"
            )

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()


def _threads(number: int) -> ThreadPoolExecutor:
    global _pool, _pool_threads
    with _lock:
        if _pool is None or _pool_threads < number:
            _pool = ThreadPoolExecutor(number, thread_name_prefix="fairseq-struct")
            _pool_threads = number
        return _pool


def _forget_threads():
    """A forked child inherits the pool but not its threads, and perhaps a held lock."""
    global _pool, _pool_threads, _lock
    _pool, _pool_threads, _lock = None, 0, threading.Lock()


os.register_at_fork(after_in_child=_forget_threads)
