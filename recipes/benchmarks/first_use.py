"""CPU seconds of the first use of each verb: its kernels are compiled, into an empty folder.

Every row is a process of its own with a cache of its own, so that nothing is at hand which another
verb compiles as well; the second process finds everything in that cache. Seconds are those that
the processor spends on the call, imports left out: how busy the machine is counts for little.

    python recipes/benchmarks/first_use.py [--append]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name
from fairseq_struct.structure import ahead_of_time

RESULTS = Path(__file__).with_name("results.jsonl")
SCRIPT = """
import sys, time, torch
from fairseq_struct.structure import ahead_of_time
torch.set_num_threads(1)
use = ahead_of_time.uses()[sys.argv[1]]
start = time.process_time()
use()
print(time.process_time() - start)
"""


def seconds(use: str, folder: str) -> float:
    """CPU seconds of a use in a new process, compiled code being kept in a folder."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, use], env={**os.environ, "NUMBA_CACHE_DIR": folder},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    return float(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    setting = parser.parse_args()
    for use in ahead_of_time.uses():
        with tempfile.TemporaryDirectory() as folder:
            first, second = seconds(use, folder), seconds(use, folder)
        metrics = {"cpu_seconds_first": round(first, 1), "cpu_seconds_kept": round(second, 2)}
        print(use, metrics, flush=True)
        if setting.append:
            append_result(RESULTS, Result(
                experiment=benchmark_name("first_use", 1), variant=use, metrics=metrics,
                device=device_name(1, on_cpu=True),
                data="each in a process of its own, with an empty cache; then once more",
                command="python recipes/benchmarks/first_use.py --append",
            ))  # fmt: skip


if __name__ == "__main__":
    main()
