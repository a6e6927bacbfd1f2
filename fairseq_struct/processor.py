"""The processor of this machine: what it is called, and what it computes with."""

import os
import platform
import re
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
# Vector instructions by their width: what records call them, and their flag.
VECTORS = (("avx", "avx"), ("avx2", "avx2"), ("avx512", "avx512f"), ("amx", "amx_tile"))
# How many of them each value of ONEDNN_MAX_CPU_ISA leaves, told by the first part that it has.
LIMITS = (("AMX", 4), ("AVX10", 3), ("AVX512", 3), ("AVX2", 2), ("AVX", 1), ("SSE", 0))


def processor_name() -> str:
    """What the processor calls itself."""
    return _told("model name") or platform.processor() or platform.machine()


def own_instructions() -> str:
    """The widest vector instructions of this processor, one of ``VECTORS``, or "".

    Those that ``ONEDNN_MAX_CPU_ISA`` keeps from the library that computes most do not count.
    """
    return vector_instructions(_told("flags"), os.environ.get("ONEDNN_MAX_CPU_ISA", ""))


def vector_instructions(flags: str, limit: str = "") -> str:
    """The widest vector instructions of a processor, "" where it has none of ``VECTORS``.

    Args:
        flags: of the processor, as Linux lists them.
        limit: value of oneDNN's variable; what it does not know forbids nothing.
    """
    widest = next((n for part, n in LIMITS if part in limit.upper()), len(VECTORS))
    found = [name for name, flag in VECTORS[:widest] if flag in flags.split()]
    return found[-1] if found else ""


def _told(key: str) -> str:
    text = CPU_INFO.read_text() if CPU_INFO.exists() else ""
    found = re.search(rf"^{key}\s*:\s*(.*\S)", text, re.MULTILINE)
    return found[1] if found else ""
