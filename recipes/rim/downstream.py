"""Test accuracy of sentiment from frozen sentence vectors, after the best epoch of validation."""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of


def record_of(run: Path) -> dict:
    """Fields of the record of a run."""
    log = log_of(run)
    best = log.best_epoch("valid", "accuracy", highest=True)
    metrics = {
        "accuracy": log.value("test", best, "accuracy"),
        "accuracy_valid": log.value("valid", best, "accuracy"),
    }
    return {"metrics": metrics, **training_of(run)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    args = parser.parse_args()
    publish(args, [record_of(run) for run in args.runs], folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
