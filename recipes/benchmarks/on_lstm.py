"""Time and memory of ON-LSTM layers, forward and backward, against torch's LSTM of the same sizes.

Batches of 20 sequences, C = 10, gradients of all weights and inputs. Each timed step follows an
untimed one of its kind. The two kinds alternate, and each number is a median. Memory is the peak of
a process minus its memory after a step of two words (median of several processes).

    python recipes/benchmarks/on_lstm.py [--threads 1] [--append]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import torch

from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers
from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name

RESULTS = Path(__file__).with_name("results.jsonl")
SIZES = ((400, 1150, 1150, 400), (400, 650, 400))
BATCH, CHUNK = 20, 10
KINDS = ("lstm", "on_lstm", "on_lstm_step_by_step")


def layers(kind: str, sizes: tuple[int, ...]):
    """The network of a row."""
    torch.manual_seed(1)
    if kind == "lstm":
        return LSTMLayers(sizes[0], sizes[1:])
    return ONLSTM(sizes[0], sizes[1:], chunk_size=CHUNK, fused=kind == "on_lstm")


def step(network, inputs: torch.Tensor):
    """Forward and backward pass."""
    network.zero_grad()
    network.run(inputs.clone().requires_grad_()).output.sum().backward()


def milliseconds(kinds, sizes: tuple[int, ...], steps: int, repeats: int) -> dict[str, float]:
    """Median time of each kind."""
    inputs = torch.randn(steps, BATCH, sizes[0])
    networks = {kind: layers(kind, sizes) for kind in kinds}
    taken = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind, network in networks.items():
            step(network, inputs)
            start = time.perf_counter()
            step(network, inputs)
            taken[kind].append(1000 * (time.perf_counter() - start))
    return {kind: round(median(values), 1) for kind, values in taken.items()}


def peak(kind: str, sizes: tuple[int, ...], steps: int) -> float:
    """Peak memory of this process in MiB, beyond that after a step of two words."""

    def highest() -> float:
        line = next(x for x in Path("/proc/self/status").open() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    network = layers(kind, sizes)
    step(network, torch.randn(2, BATCH, sizes[0]))
    before = highest()
    step(network, torch.randn(steps, BATCH, sizes[0]))
    return highest() - before


def peaks(kinds, sizes: tuple[int, ...], steps: int, repeats: int) -> dict[str, float]:
    """Median :func:`peak` of each kind; each value is measured in a new process."""
    numbers = [str(number) for number in (steps, *sizes)]
    taken = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind in kinds:
            command = [sys.executable, __file__, "--peak", kind, *numbers]
            done = subprocess.run(command, capture_output=True, check=True)
            taken[kind].append(float(done.stdout))
    return {kind: round(median(values), 1) for kind, values in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7, help="timed steps of each")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    parser.add_argument("--peak", nargs="+", help=argparse.SUPPRESS)
    setting = parser.parse_args()
    if min(setting.repeats, setting.threads) < 1:
        parser.error("all numbers must be 1 or more")
    torch.set_num_threads(setting.threads)
    if setting.peak:
        kind, steps, *sizes = setting.peak
        print(peak(kind, tuple(map(int, sizes)), int(steps)))
        return
    for sizes in SIZES:
        name = "-".join(map(str, sizes))
        for steps in (35, 70, 140):
            kinds = KINDS if steps == 70 else KINDS[:2]
            times = milliseconds(kinds, sizes, steps, setting.repeats)
            metrics = {f"milliseconds_{kind}": value for kind, value in times.items()}
            metrics["time_ratio"] = round(times["on_lstm"] / times["lstm"], 2)
            memory = peaks(KINDS[:2], sizes, steps, setting.repeats)
            metrics |= {f"mib_{kind}": value for kind, value in memory.items()}
            metrics["memory_ratio"] = round(memory["on_lstm"] / memory["lstm"], 2)
            print(name, steps, metrics, flush=True)
            if setting.append:
                append_result(RESULTS, Result(
                    experiment=benchmark_name("on_lstm", setting.threads),
                    variant=f"{name}, {steps} words", metrics=metrics,
                    device=device_name(setting.threads, on_cpu=True),
                    data=f"forward and backward pass, {BATCH} sequences, C = {CHUNK}, "
                    f"{setting.repeats} repeats; ratios to torch's LSTM",
                    command="python recipes/benchmarks/on_lstm.py "
                    f"--threads {setting.threads} --repeats {setting.repeats} --append",
                ))  # fmt: skip


if __name__ == "__main__":
    main()
