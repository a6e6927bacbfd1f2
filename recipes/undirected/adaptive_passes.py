"""Accuracy, passes and time of networks of images, with fixed passes and until convergence.

Times are the shortest of a few rounds over the test images. In each round, all networks take turns.
"""

from pathlib import Path
from time import perf_counter

from images import accuracy_of, data_of, load

from fairseq_struct.data.readers.idx import read_images
from fairseq_struct.errors import report_plainly
from fairseq_struct.processor import device_name
from fairseq_struct.records.scoring import publish, scoring_options, training_of

ROUNDS, FIRST, DRAWN, CONVERGE = 3, "k1", "random_k", "converge"


def measured(runs: dict[str, Path], test) -> dict[str, dict[str, float]]:
    """Metrics of each variant; ``time_ratio`` is the time by that of one pass."""
    models = {name: load(run) for name, run in runs.items()}
    models[CONVERGE] = load(runs[DRAWN], test_passes=CONVERGE)
    found, times = {}, {name: [] for name in models}
    for _ in range(ROUNDS):
        for name, model in models.items():
            start = perf_counter()
            found[name] = accuracy_of(model, *test)
            times[name].append(perf_counter() - start)
    best = {name: min(every) for name, every in times.items()}
    return {
        name: {
            "accuracy": accuracy, "passes_mean": passes,
            "microseconds": round(1e6 * best[name] / len(test[1]), 1),
            "time_ratio": round(best[name] / best[FIRST], 2),
        }
        for name, (accuracy, passes) in found.items()
    }  # fmt: skip


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="folder of the idx files")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument(
        "--runs", nargs=2, action="append", required=True, metavar=("VARIANT", "FOLDER"),
        help="folder with a folder of each seed",
    )  # fmt: skip
    args = parser.parse_args()
    args.data, test = data_of(args.images), read_images(args.images, "test")
    rows: dict[str, list[dict]] = {}
    for seed in args.seeds:
        runs = {name: Path(folder) / f"seed_{seed}" for name, folder in args.runs}
        for name, metrics in measured(runs, test).items():
            about = training_of(runs[DRAWN if name == CONVERGE else name])
            about["device"] = device_name()  # the times are those of the comparison
            rows.setdefault(name, []).append({"metrics": metrics, **about})
    for name, records in rows.items():
        args.variant = f"mnist, {name}"
        publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
