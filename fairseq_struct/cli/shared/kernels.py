"""Kernels of the whole package, compiled ahead of time."""

from __future__ import annotations

import time

from fairseq_struct.errors import InputError


def compile_kernels(wanted: str = "") -> None:
    """Compile all kernels that are not compiled yet, and print the seconds of each use.

    Args:
        wanted: compile only uses with this text in their names.

    Raises:
        InputError: no folder is writable, the kernels could not be saved, or no use matches.
    """
    from fairseq_struct.environments import craft_bot
    from fairseq_struct.modules import on_lstm
    from fairseq_struct.structure.kernels import ahead_of_time, kernel_cache

    folder = ahead_of_time.folder()
    if folder is None:
        raise InputError(
            "no folder for compiled kernels is writable; set NUMBA_CACHE_DIR to a writable folder"
        )
    uses = ahead_of_time.uses()
    uses |= {"ON-LSTM": on_lstm.compile_kernels, "Craft": craft_bot.compile_kernels}
    chosen = {name: use for name, use in uses.items() if wanted in name}
    if not chosen:
        raise InputError(f"--compile {wanted}: choose from {', '.join(uses)}")
    uses = chosen
    kernel_cache.announcement.muted = True
    print(f"compiling for this processor, into {folder}")
    begin = time.perf_counter()
    for number, (name, use) in enumerate(uses.items(), 1):
        print(f"{number:3}/{len(uses)}  {name:54}", end="", flush=True)
        start = time.perf_counter()
        use()
        print(f"{time.perf_counter() - start:7.1f} s", flush=True)
    if kernel_cache.announcement.complained:
        raise InputError("some compiled kernels could not be saved: see above")
    print(f"all compiled; {time.perf_counter() - begin:.1f} s")
