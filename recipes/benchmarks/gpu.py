"""Speed on a GPU: inference over dependency trees, and ON-LSTM layers.

Trees: this project in plain torch and torch-struct 0.5 on the GPU, and this project's kernels on
the CPU beside it, for scores on the GPU (beside) and for scores on the CPU (cpu). ON-LSTM: cuDNN's
LSTM of the same sizes. Calls of all parts of a row alternate; each number is a median of calls that
end when the GPU has finished. The two-pass Transformer is measured by
``scheduled_sampling.py --device cuda``.

    pip install torch-struct==0.5
    python recipes/benchmarks/gpu.py [--threads 16] [--append]
"""

import sys
import warnings
from collections.abc import Callable

import on_lstm
import structured_inference
import timing
import torch
from structured_inference import Ours, gradient_of

from fairseq_struct.processor import device_name
from fairseq_struct.records.results import Result, append_result

WORDS, BATCHES = 40, (32, 256)


def rows_of_trees(batch: int, device: str) -> dict[str, dict[str, Callable]]:
    """The measured rows: name -> {"ours", "beside", "cpu", "peer"}, those that there are."""
    generator = torch.Generator().manual_seed(1)
    here = tuple(torch.randn(batch, WORDS, WORDS, generator=generator) for _ in range(2))
    there = tuple(tensor.to(device) for tensor in here)
    found: dict[str, dict[str, Callable]] = {}
    for part, tensors, backend in (
        ("ours", there, "torch"), ("beside", there, "compiled"), ("cpu", here, "compiled"),
    ):  # fmt: skip
        rows = structured_inference.rows_of_sums(*tensors, backend)
        rows |= rows_of_all_trees(*tensors, backend)
        if part != "beside":  # searches run on the CPU in any case
            rows |= structured_inference.rows_of_sparsemap(*tensors)
        for name, row in rows.items():
            if "deviation_0.01" in name:  # a search of seconds
                continue
            own = found.setdefault(name, {})
            own[part] = row["ours"]
            if part == "ours" and "peer" in row:
                own["peer"] = row["peer"]
    return found


def rows_of_all_trees(scores: torch.Tensor, weights: torch.Tensor, backend: str) -> dict[str, dict]:
    """Rows for trees that may cross; their samples in plain torch would take seconds."""
    trees = Ours(scores, backend, projective=False)
    drawn = Ours(scores, projective=False)
    return {
        "nonprojective_log_partition_gradient": {"ours": gradient_of("log_partition", trees)},
        "nonprojective_marginals_gradient": {"ours": gradient_of("marginals", trees, weights)},
        "nonprojective_argmax": {"ours": lambda: trees.make().argmax},
        "nonprojective_sample": {"ours": lambda: drawn.make().sample(1)},
    }


def rows_of_layers(sizes: tuple[int, ...], steps: int, device: str) -> dict[str, Callable]:
    """Forward and backward pass of ON-LSTM layers, and of the peer's."""
    inputs = torch.randn(steps, on_lstm.BATCH, sizes[0], device=device)
    kinds = {"ours": "on_lstm", "steps": "on_lstm_step_by_step", "peer": "lstm"}
    networks = {part: on_lstm.layers(kind, sizes).to(device) for part, kind in kinds.items()}
    return {part: lambda own=own: on_lstm.step(own, inputs) for part, own in networks.items()}


def milliseconds(parts: dict[str, Callable], repeats: int) -> dict[str, float]:
    """Median time of each part; slow ones are repeated less often."""

    def ended(call: Callable) -> Callable:
        return lambda: (call(), wait())

    calls = {part: ended(call) for part, call in parts.items()}
    return timing.milliseconds(calls, repeats, untimed=False, dropped=1, most=1000)


def wait():
    """Until the GPU has finished."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main():
    parser = timing.options_of(__doc__, 15, threads=16)
    parser.add_argument("--device", default="cuda", help="the device (default: cuda)")
    parser.add_argument("--part", choices=["trees", "on_lstm"], help="one part (default: both)")
    parser.add_argument("--rows", nargs="+", help="only these rows of trees")
    setting = timing.parsed(parser)
    warnings.simplefilter("ignore")
    beside = device_name(setting.threads, on_cpu=True)
    for batch in BATCHES if setting.part != "on_lstm" else ():
        about = f"batch {batch}, {WORDS} words, unit-normal scores; CPU: {beside}"
        for name, parts in rows_of_trees(batch, setting.device).items():
            if setting.rows and name not in setting.rows:
                continue
            report(f"structured_inference_gpu_{batch}", name, parts, about, setting)
    for sizes in on_lstm.SIZES if setting.part != "trees" else ():
        layers = "-".join(map(str, sizes))
        about = f"forward and backward pass, {on_lstm.BATCH} sequences, C = {on_lstm.CHUNK}"
        for steps in (35, 70, 140):
            parts = rows_of_layers(sizes, steps, setting.device)
            report("on_lstm_gpu", f"{layers}, {steps} words", parts, about, setting)


def report(experiment: str, name: str, parts: dict[str, Callable], about: str, setting):
    """Measure a row, print it, and append its record."""
    times = milliseconds(parts, setting.repeats)
    metrics = {f"milliseconds_{part}": round(value, 2) for part, value in times.items()}
    others = times.keys() - {"ours"}
    metrics |= {f"{part}_to_ours": round(times[part] / times["ours"], 2) for part in sorted(others)}
    print(experiment, name, metrics, flush=True)
    if setting.append:
        append_result(timing.RESULTS, Result(
            experiment=experiment, variant=name, metrics=metrics,
            data=f"{about}; {setting.repeats} repeats, or those of a second", device=device_name(),
            command=" ".join(["python recipes/benchmarks/gpu.py", *sys.argv[1:]]),
        ))  # fmt: skip


if __name__ == "__main__":
    main()
