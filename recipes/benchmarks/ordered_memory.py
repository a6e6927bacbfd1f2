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
from functools import partial
from statistics import median

import timing
import torch
from torch import nn

from fairseq_struct.modules.ordered_memory import ATTENTIONS, OrderedMemory

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
    steps = {kind: partial(step, network_of(kind), inputs) for kind in KINDS}
    return {kind: round(ms, 1) for kind, ms in timing.milliseconds(steps, repeats).items()}


def evaluate(network: nn.Module, inputs: torch.Tensor) -> None:
    """Forward pass without gradients."""
    with torch.inference_mode():
        network(inputs)


def peak(words: int) -> float:
    """Peak memory of this process in MiB, beyond that after a step of two words."""
    network = network_of("ordered_memory_paper")
    run, batch = (evaluate, 1) if words == EVALUATED else (step, BATCH)
    run(network, torch.randn(2, batch, SIZE))
    before = timing.highest_memory()
    run(network, torch.randn(words, batch, SIZE))
    return timing.highest_memory() - before


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
    parser = timing.options_of(__doc__, 7, "timed steps of each")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    setting = timing.parsed(parser)
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
        timing.report(
            setting, "ordered_memory", variant, metrics,
            f"forward and backward pass, {BATCH} sequences, {SLOTS} slots of {SIZE}, "
            f"{setting.repeats} repeats; ratios to nn.LSTM({SIZE})",
        )  # fmt: skip


if __name__ == "__main__":
    main()
