"""CPU seconds of the first use of each verb, which compiles the verb's kernels.

Every row uses a separate process with an empty cache, so it shares no kernels with other verbs. A
second process then uses the filled cache. The seconds are CPU time of the call without imports, so
the load of the machine has little effect.

    python recipes/benchmarks/first_use.py [--append]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result, benchmark_name
from fairseq_struct.structure.kernels import ahead_of_time

RESULTS = Path(__file__).with_name("results.jsonl")
SCRIPT = """
import sys, time, torch
from fairseq_struct.structure.kernels import ahead_of_time
torch.set_num_threads(1)
use = ahead_of_time.uses()[sys.argv[1]]
start = time.process_time()
use()
print(time.process_time() - start)
"""


def seconds(use: str, folder: str) -> float:
    """CPU seconds of a use in a new process, with ``folder`` as cache of compiled code."""
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
