"""Test accuracy for one row of table 4.2 (Mihaylova's thesis): one record for each seed.

The accuracy is that after the epoch with the best validation accuracy.
"""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of

METRICS = ("accuracy", "macro_f1", "tree_depth")


def best_of(run: Path) -> dict:
    """Fields of a run's record: test metrics, ``accuracy_valid``, seed, updates, minutes.

    Raises:
        InputError: the run does not exist, or its training did not end.
    """
    log = log_of(run)
    best = log.best_epoch("valid", "accuracy", highest=True)
    test = log.splits["test"][best]
    metrics = {name: test[name] for name in METRICS if name in test}
    metrics["accuracy_valid"] = log.value("valid", best, "accuracy")
    return {"metrics": metrics, **training_of(run)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    args = parser.parse_args()
    publish(args, [best_of(run) for run in args.runs], folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
