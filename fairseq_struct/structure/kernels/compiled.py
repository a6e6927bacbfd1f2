"""Kernels compiled for the CPU: built at first use, cached on disk, run over a batch by threads.

A kernel is a serial function over the sentences ``first`` .. ``last - 1`` of a batch that works
on numpy arrays and releases Python's lock (GIL). Several threads run it on different sentences.
This is safe in forked data-loader workers (which start their own threads) and under concurrent
Python threads. Numba's own parallel loops are not safe in either case.

Arrays that belong together are named, in a NamedTuple. A kernel that is called at every step of
a search takes them as a plain tuple with the same fields: Numba unpacks it twice as fast. For a
dozen arrays, a call with a NamedTuple takes 2 microseconds more.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from math import prod
from typing import NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.kernels.kernel_cache import cache_of

# Additions may be reordered, so that sums can be vectorised. Kernels check for NaN and infinity by
# comparisons, which keep their meaning: Numba's isfinite is a difference, which is taken for 0.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS = {
    "nogil": True, "error_model": "numpy", "fastmath": REORDERED, "no_cfunc_wrapper": True,
}  # fmt: skip

# One more thread pays off per this many elementary steps (about half a millisecond): it has to
# wake up, and torch's own threads may still be spinning (see ``zeros``).
STEPS_WORTH_A_THREAD = 2.0**21

_pool: ThreadPoolExecutor | None = None
_pool_threads = 0
_lock = threading.Lock()
_own = threading.local()


def compiled(function: Callable) -> Callable:
    """Compile ``function`` at its first call; later processes load it from the cache."""
    dispatcher = numba.njit(function, **OPTIONS)
    dispatcher._cache = cache_of(function)
    return dispatcher


def inner(function: Callable) -> Callable:
    """As :func:`compiled`, for functions that only kernels call; stored in the kernels' code.

    This leaves out the wrapper for calls from Python, which is long for many arguments.
    """
    return numba.njit(function, **OPTIONS, no_cpython_wrapper=True)


class Space(NamedTuple):
    """Request for a work array.

    Args:
        shape: its shape.
        dtype: type of its elements.
    """

    shape: tuple[int, ...]
    dtype: type = np.float64


def run(kernel: Callable, steps: np.ndarray, *arguments, workspace: Sequence = ()):
    """Call ``kernel(first, last, *arguments, *workspace)`` on all sentences, with threads.

    It uses at most as many threads as torch is set to.

    Args:
        kernel: a function made by :func:`compiled`, or one that only calls such functions.
        steps: (batch,) estimate of the elementary steps that each sentence takes.
        arguments: passed on; the kernel writes its results into arrays among them.
        workspace: work arrays, each a :class:`Space`, or tuples of these, named or not. Each
            thread has its own arrays and keeps them: the system needs longer to allocate memory
            than the kernels need to fill it.
    """
    batch = len(steps)
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


def threads_for(steps: float) -> int:
    """How many of torch's threads pay off for this many elementary steps."""
    return min(torch.get_num_threads(), int(steps / STEPS_WORTH_A_THREAD) + 1)


def _workspace(spaces: Sequence) -> list:
    """This thread's work arrays; those of earlier calls are reused if large enough."""
    kept = _own.__dict__.setdefault("arrays", {})
    places = count()

    def taken(space):
        if type(space) is tuple:
            return tuple(map(taken, space))
        if type(space) is not Space:
            return space._make(map(taken, space))
        (shape, dtype), place, size = space, next(places), prod(space.shape)
        if (place, dtype) not in kept or kept[place, dtype].size < size:
            kept[place, dtype] = np.empty(size, dtype)
        return kept[place, dtype][:size].reshape(shape)

    return [taken(space) for space in spaces]


def array(tensor: Tensor, dtype=np.float64) -> np.ndarray:
    """A contiguous array of the tensor's values, sharing its memory where it can."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=dtype)


def zeros(shape: tuple[int, ...]) -> Tensor:
    """Zeros in float64, by numpy.

    After every operation on a larger tensor, torch's threads spin for about a millisecond while
    they wait for the next operation. This slows down the kernels' threads. The environment
    variable OMP_WAIT_POLICY=passive avoids it.
    """
    return torch.from_numpy(np.zeros(shape))


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
