"""Time and memory of Ordered Memory, forward and backward, against ``nn.LSTM`` of the same width.

Batches of 32 sequences, 12 slots of width 128, gradients of all weights and inputs, no dropout. A
cell of Ordered Memory has three times the products of an LSTM's step, and each word needs one for
every slot it can reach: 28 times the products of an LSTM at 30 words, 34 times at 100. The kinds
alternate; each number is a median of steps that follow an untimed one. Memory is the peak of a
process minus its memory after a step of two words; for evaluation, of one long sequence.

    python recipes/benchmarks/ordered_memory.py [--threads 1] [--append]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import torch
from torch import nn

from fairseq_struct.modules.ordered_memory import ATTENTIONS, OrderedMemory
from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name

RESULTS = Path(__file__).with_name("results.jsonl")
SIZE, SLOTS, BATCH = 128, 12, 32
WORDS = (30, 100)
LONG = (100, 200, 400)
EVALUATED = 2000
KINDS = ("lstm", *(f"ordered_memory_{form}" for form in ATTENTIONS), "ordered_memory_plain_steps")


def network_of(kind: str) -> nn.Module:
    """The network of a row."""
    torch.manual_seed(1)
    if kind == "lstm":
        return nn.LSTM(SIZE, SIZE)
    form = kind.removeprefix("ordered_memory_")
    if form == "plain_steps":
        return OrderedMemory(SIZE, SIZE, SLOTS, fused=False)
    return OrderedMemory(SIZE, SIZE, SLOTS, form)


def step(network: nn.Module, inputs: torch.Tensor) -> None:
    """Forward and backward pass; the loss is that of the last outputs, as in a classifier."""
    network.zero_grad()
    result = network(inputs.clone().requires_grad_())
    (result[0][-1] if isinstance(network, nn.LSTM) else result.last).sum().backward()


def milliseconds(words: int, repeats: int) -> dict[str, float]:
    """Median time of each kind."""
    inputs = torch.randn(words, BATCH, SIZE)
    networks = {kind: network_of(kind) for kind in KINDS}
    taken = {kind: [] for kind in KINDS}
    for _ in range(repeats):
        for kind, network in networks.items():
            step(network, inputs)
            start = time.perf_counter()
            step(network, inputs)
            taken[kind].append(1000 * (time.perf_counter() - start))
    return {kind: round(median(values), 1) for kind, values in taken.items()}


def evaluate(network: nn.Module, inputs: torch.Tensor) -> None:
    """Forward pass without gradients."""
    with torch.inference_mode():
        network(inputs)


def peak(words: int) -> float:
    """Peak memory of this process in MiB, beyond that after a step of two words."""

    def highest() -> float:
        line = next(x for x in Path("/proc/self/status").open() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    network = network_of("ordered_memory_paper")
    run, batch = (evaluate, 1) if words == EVALUATED else (step, BATCH)
    run(network, torch.randn(2, batch, SIZE))
    before = highest()
    run(network, torch.randn(words, batch, SIZE))
    return highest() - before


def peaks(repeats: int) -> dict[str, float]:
    """Median :func:`peak` at each length; each value is measured in a new process."""
    found = {}
    for words in (*LONG, EVALUATED):
        command = [sys.executable, __file__, "--peak", str(words)]
        values = [
            float(subprocess.run(command, capture_output=True, check=True).stdout)
            for _ in range(repeats)
        ]
        name = f"mib_{words}_words" + "_evaluated" * (words == EVALUATED)
        found[name] = round(median(values), 1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7, help="timed steps of each")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    setting = parser.parse_args()
    if min(setting.repeats, setting.threads) < 1:
        parser.error("all numbers must be 1 or more")
    torch.set_num_threads(setting.threads)
    if setting.peak:
        print(peak(setting.peak))
        return
    rows = {}
    for words in WORDS:
        times = milliseconds(words, setting.repeats)
        metrics = {f"milliseconds_{kind}": value for kind, value in times.items()}
        for kind in KINDS[1:]:
            metrics[f"ratio_{kind}"] = round(times[kind] / times["lstm"], 1)
        rows[f"{words} words"] = metrics
    rows["memory"] = peaks(3)
    for variant, metrics in rows.items():
        print(variant, metrics, flush=True)
        if setting.append:
            append_result(RESULTS, Result(
                experiment=benchmark_name("ordered_memory", setting.threads), variant=variant,
                metrics=metrics, device=device_name(setting.threads, on_cpu=True),
                data=f"forward and backward pass, {BATCH} sequences, {SLOTS} slots of {SIZE}, "
                f"{setting.repeats} repeats; ratios to nn.LSTM({SIZE})",
                command="python recipes/benchmarks/ordered_memory.py "
                f"--threads {setting.threads} --repeats {setting.repeats} --append",
            ))  # fmt: skip


if __name__ == "__main__":
    main()
