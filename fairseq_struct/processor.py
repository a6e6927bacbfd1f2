"""What this machine computes with: its processor and vector instructions, or its accelerator."""

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
# Vector instructions by width: their name in records, and their flag.
VECTORS = (("avx", "avx"), ("avx2", "avx2"), ("avx512", "avx512f"), ("amx", "amx_tile"))
# Number of VECTORS that a value of ONEDNN_MAX_CPU_ISA allows; the first part that it contains
# decides.
LIMITS = (("AMX", 4), ("AVX10", 3), ("AVX512", 3), ("AVX2", 2), ("AVX", 1), ("SSE", 0))


def processor_name() -> str:
    """The name of the processor."""
    return _told("model name") or platform.processor() or platform.machine()


def device_name(threads: int | None = None, on_cpu: bool = False) -> str:
    """Name of the device in use: accelerator, or ``PROCESSOR, VECTOR INSTRUCTIONS, N threads``.

    Args:
        threads: number of CPU threads (default: torch's number).
        on_cpu: the CPU was used, even if there is an accelerator.
    """
    import torch

    if torch.cuda.is_available() and not on_cpu:
        return torch.cuda.get_device_name()
    threads = threads or torch.get_num_threads()
    parts = processor_name(), own_instructions(), f"{threads} thread{'s' if threads > 1 else ''}"
    return ", ".join(filter(None, parts))


def own_instructions() -> str:
    """The widest vector instructions of this processor, one of ``VECTORS``, or "".

    Instructions that ``ONEDNN_MAX_CPU_ISA`` forbids to oneDNN, the main library, do not count.
    """
    return vector_instructions(_told("flags"), os.environ.get("ONEDNN_MAX_CPU_ISA", ""))


def vector_instructions(flags: str, limit: str = "") -> str:
    """The widest vector instructions of a processor, "" if it has none of ``VECTORS``.

    Args:
        flags: flags of the processor, as Linux lists them.
        limit: value of ``ONEDNN_MAX_CPU_ISA``; an unknown value forbids nothing.
    """
    widest = next((n for part, n in LIMITS if part in limit.upper()), len(VECTORS))
    found = [name for name, flag in VECTORS[:widest] if flag in flags.split()]
    return found[-1] if found else ""


def _told(key: str) -> str:
    text = ""
    with suppress(OSError):  # other systems, and sandboxes, have none
        text = CPU_INFO.read_text()
    found = re.search(rf"^{key}\s*:\s*(.*\S)", text, re.MULTILINE)
    return found[1] if found else ""
