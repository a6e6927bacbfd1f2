"""Time and memory of a training step of the scheduled-sampling Transformer, mix by mix.

Each row is relative to the same model under pure teacher forcing, measured in the same run. The
steps of all rows are interleaved, so a change of the machine's speed affects all rows equally. Peak
memory is measured in a new process per row.

    python recipes/benchmarks/scheduled_sampling.py [--repeats 15] [--threads 1] [--append]
"""

import argparse
import json
import re
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import torch

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result, benchmark_name

RESULTS = Path(__file__).with_name("results.jsonl")

# variant: (options of the architecture, target time ratio for probability 0.5)
ROWS = {
    "argmax": ({"mix": "argmax"}, 1.20),
    "top_k": ({"mix": "top_k"}, 1.20),
    "softmax": ({"mix": "softmax"}, 1.27),
    "gumbel_softmax": ({"mix": "gumbel_softmax", "mix_alpha": 10.0}, 1.27),
    "sparsemax": ({"mix": "sparsemax"}, 1.35),
    "entmax15": ({"mix": "entmax15"}, 1.35),
    "sample": ({"mix": "sample"}, None),
    "softmax_grad": ({"mix": "softmax", "first_pass_gradient": True}, 1.75),
    "gumbel_softmax_grad": ({"mix": "gumbel_softmax", "first_pass_gradient": True}, 1.75),
    "sparsemax_grad": ({"mix": "sparsemax", "first_pass_gradient": True}, 1.75),
}


class TrainingStep:
    """One model, its optimiser, and a fixed batch; calling it makes one training step."""

    def __init__(self, options: dict, probability: float, setting: argparse.Namespace):
        from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
        from fairseq.data import Dictionary
        from fairseq.optim.adam import FairseqAdam

        from fairseq_struct.models.scheduled_sampling_transformer import (
            ScheduledSamplingTransformer,
        )

        torch.manual_seed(1)
        dictionary = Dictionary()
        for number in range(setting.vocabulary - dictionary.nspecial):
            dictionary.add_symbol(f"w{number}")
        task = Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
        arguments = Namespace(
            encoder_layers=setting.layers,
            decoder_layers=setting.layers,
            encoder_embed_dim=setting.dim,
            encoder_ffn_embed_dim=4 * setting.dim,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            share_all_embeddings=True,
            schedule="constant",
            schedule_k=probability,
            **options,
        )
        self.model = ScheduledSamplingTransformer.build_model(arguments, task).to(setting.device)
        self.model.train()
        adam = Namespace(
            lr=[1e-4],
            adam_betas="(0.9, 0.98)",
            adam_eps=1e-8,
            weight_decay=0.0,
            use_old_adam=False,
            fp16_adam_stats=False,
            tpu=False,
        )
        self.optimizer = FairseqAdam(adam, list(self.model.parameters()))
        self.loss = label_smoothed_nll_loss
        shape = (setting.sentences, setting.length)
        first = dictionary.nspecial
        self.source = torch.randint(first, setting.vocabulary, shape, device=setting.device)
        self.target = torch.randint(first, setting.vocabulary, shape, device=setting.device)
        self.target[:, -1] = dictionary.eos()
        self.inputs = self.target.roll(1, 1)
        self.lengths = torch.full(shape[:1], setting.length, device=setting.device)
        self.padding = dictionary.pad()
        self.updates = 0
        # A few steps on this batch make the predictions peaked, as those of a trained model.
        for _ in range(setting.warmup_steps):
            self()

    def __call__(self) -> float:
        start = time.perf_counter()
        self.model.set_num_updates(self.updates)
        self.updates += 1
        scores, _ = self.model(self.source, self.lengths, self.inputs)
        log_probabilities = torch.log_softmax(scores.float(), dim=-1)
        loss, _ = self.loss(
            log_probabilities.flatten(0, 1),
            self.target.flatten().unsqueeze(1),
            0.1,
            ignore_index=self.padding,
        )
        (loss / self.target.numel()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.source.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - start


def peak_memory(setting: argparse.Namespace, options: dict, probability: float) -> float:
    """Peak memory of training in MiB: on a CPU the growth of a new process in its first steps,
    on a CUDA device all allocated memory, parameters included."""
    command = [sys.executable, __file__, "--one-row", json.dumps([options, probability])]
    for name in ("layers", "dim", "vocabulary", "sentences", "length", "threads", "device"):
        command += [f"--{name}", str(getattr(setting, name))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_memories(setting: argparse.Namespace, rows: dict[str, tuple]) -> dict[str, float]:
    """:func:`peak_memory` of (options, probability) by name; a GPU's processes run together."""
    with ThreadPoolExecutor(len(rows) if setting.device == "cuda" else 1) as pool:
        found = pool.map(lambda row: peak_memory(setting, *row), rows.values())
        return dict(zip(rows, found, strict=True))


def measure_one_row(setting: argparse.Namespace) -> float:
    options, probability = json.loads(setting.one_row)
    setting.warmup_steps = 0
    step = TrainingStep(options, probability, setting)
    if setting.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        for _ in range(3):
            step()
        return torch.cuda.max_memory_allocated() / 2**20
    before = peak_resident_size()
    for _ in range(3):
        step()
    return peak_resident_size() - before


def peak_resident_size() -> float:
    """Peak memory in MiB as Linux counts it (getrusage would inherit the parent's peak)."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=3, help="layers of encoder and of decoder")
    parser.add_argument("--dim", type=int, default=256, help="model size")
    parser.add_argument("--vocabulary", type=int, default=8000, help="dictionary entries")
    parser.add_argument("--sentences", type=int, default=32, help="sentences in the batch")
    parser.add_argument("--length", type=int, default=25, help="tokens per sentence, each side")
    parser.add_argument("--repeats", type=int, default=15, help="timed steps per row")
    parser.add_argument("--warmup-steps", type=int, default=5, help="untimed steps per row")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where to run")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="what to time")
    parser.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    parser.add_argument("--one-row", help=argparse.SUPPRESS)
    setting = parser.parse_args()
    torch.set_num_threads(setting.threads)
    if setting.one_row:
        print(measure_one_row(setting))
        return

    probabilities = (0.0, 0.5, 1.0)
    steps = {"teacher_forcing": TrainingStep({}, 1.0, setting)}
    for name in setting.rows:
        for probability in probabilities:
            steps[name, probability] = TrainingStep(ROWS[name][0], probability, setting)
    times = {key: [] for key in steps}
    for _ in range(setting.repeats):
        for key, step in steps.items():
            times[key].append(step())
    reference = times["teacher_forcing"]

    def ratio(key) -> float:
        return median(own / base for own, base in zip(times[key], reference, strict=True))

    rows = {name: (ROWS[name][0], 0.5) for name in setting.rows}
    memory = peak_memories(setting, {"teacher_forcing": ({}, 1.0), **rows})
    base = {
        "milliseconds": 1000 * median(reference),
        "memory_mib": memory["teacher_forcing"],
    }
    print(
        f"teacher forcing: {base['milliseconds']:.0f} ms a step, "
        f"{base['memory_mib']:.0f} MiB at its peak; the rows are ratios to it"
    )
    print(f"{'mix':<22}{'t=0':>7}{'t=0.5':>7}{'t=1':>7}{'target':>8}{'memory':>8}")
    records = {"teacher_forcing": base}
    for name in setting.rows:
        limit = ROWS[name][1]
        row = {f"time_ratio_t{p:g}": ratio((name, p)) for p in probabilities}
        row["memory_ratio"] = memory[name] / base["memory_mib"]
        target = f"{limit:.2f}" if limit else ""
        times_of_row = "".join(f"{row[f'time_ratio_t{p:g}']:7.2f}" for p in probabilities)
        print(f"{name:<22}{times_of_row}{target:>8}{row['memory_ratio']:8.2f}", flush=True)
        records[name] = row
    if setting.append:
        for name, values in records.items():
            append_result(RESULTS, record_of(setting, name, values))


def record_of(setting: argparse.Namespace, name: str, values: dict[str, float]) -> Result:
    """The record of one row; its field ``data`` describes what was timed."""
    size = f"{setting.layers}+{setting.layers} layers of {setting.dim}"
    batch = f"{setting.sentences} x {setting.length} tokens, vocabulary {setting.vocabulary}"
    on_cpu = setting.device == "cpu"
    return Result(
        experiment=benchmark_name("scheduled_sampling", setting.threads)
        if on_cpu else "scheduled_sampling_gpu",
        variant=name,
        metrics={key: round(value, 2) for key, value in values.items()},
        data=f"training step with optimiser, {size}, {batch}, {setting.repeats} repeats, ratios "
        "to teacher forcing in the same run (time at gold probability t, memory at 0.5)",
        device=device_name(setting.threads, on_cpu=on_cpu),
        command=" ".join(["python recipes/benchmarks/scheduled_sampling.py", *sys.argv[1:]]),
    )


if __name__ == "__main__":
    main()
