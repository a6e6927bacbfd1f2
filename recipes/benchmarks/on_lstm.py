"""Time and memory of ON-LSTM layers, forward and backward, against torch's LSTM of the same sizes.

Batches of 20 sequences, C = 10, gradients of all weights and inputs. Each timed step follows an
untimed one of its kind. The two kinds alternate, and each number is a median. Memory is the peak of
a process minus its memory after a step of two words (median of several processes).

    python recipes/benchmarks/on_lstm.py [--threads 1] [--append]
"""

import argparse
import subprocess
import sys
from functools import partial
from statistics import median

import timing
import torch

from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers

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
    steps_of = {kind: partial(step, network, inputs) for kind, network in networks.items()}
    return {kind: round(ms, 1) for kind, ms in timing.milliseconds(steps_of, repeats).items()}


def peak(kind: str, sizes: tuple[int, ...], steps: int) -> float:
    """Peak memory of this process in MiB, beyond that after a step of two words."""
    network = layers(kind, sizes)
    step(network, torch.randn(2, BATCH, sizes[0]))
    before = timing.highest_memory()
    step(network, torch.randn(steps, BATCH, sizes[0]))
    return timing.highest_memory() - before


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
    parser = timing.options_of(__doc__, 7, "timed steps of each")
    parser.add_argument("--peak", nargs="+", help=argparse.SUPPRESS)
    setting = timing.parsed(parser)
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
            timing.report(
                setting, "on_lstm", f"{name}, {steps} words", metrics,
                f"forward and backward pass, {BATCH} sequences, C = {CHUNK}, "
                f"{setting.repeats} repeats; ratios to torch's LSTM",
            )  # fmt: skip


if __name__ == "__main__":
    main()
