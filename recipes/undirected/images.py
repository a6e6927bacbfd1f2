"""Test accuracy of networks of images, for tables 5.2 to 5.5 of Mihaylova's thesis.

The checkpoint is that of the epoch with the best validation accuracy.
"""

from pathlib import Path

import fairseq_struct
from fairseq_struct.data.readers.idx import read_images, read_labels
from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of


def load(run: Path, **options):
    """The best model of a run."""
    return fairseq_struct.load(run / "checkpoint_best.pt", **options)


def accuracy_of(model, images, labels) -> tuple[float, float]:
    """Accuracy in percent, and mean number of passes."""
    found = model.classify_images(images)
    right = (found.labels.numpy() == labels).mean()
    return round(100 * float(right), 2), round(float(found.passes.float().mean()), 2)


def data_of(folder: Path) -> str:
    """The data in words."""
    return f"MNIST, {len(read_labels(folder, 'train'))} images, a sixth held out"


def record_of(run: Path, test, beside: list, **options) -> dict:
    """Fields of the record of a run."""
    log, model = log_of(run), load(run, **options)
    accuracy, passes = accuracy_of(model, *test)
    metrics = {"accuracy": accuracy}
    for name, parent in beside:
        other = load(Path(parent) / run.name, **options)
        metrics[f"accuracy_{name}"], _ = accuracy_of(other, *test)
    if options.get("test_passes"):
        metrics["passes_mean"] = passes
    else:
        best = log.best_epoch("valid", "accuracy", highest=True)
        metrics["accuracy_valid"] = log.value("valid", best, "accuracy")
    if not model.both_ways:  # table 5.4
        metrics["parameters"] = sum(one.numel() for one in model.model.parameters())
    return {"metrics": metrics, **training_of(run)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="folder of the idx files")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--test-passes", help="as an option of the model")
    parser.add_argument(
        "--beside", nargs=2, action="append", default=[], metavar=("NAME", "FOLDER"),
        help="add accuracy_NAME, of the run of the same seed in FOLDER",
    )  # fmt: skip
    args = parser.parse_args()
    args.data = data_of(args.images)
    options = {"test_passes": args.test_passes} if args.test_passes else {}
    test = read_images(args.images, "test")
    rows = [record_of(run, test, args.beside, **options) for run in args.runs]
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
