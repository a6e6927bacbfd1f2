"""Test accuracy for one row of table 4.2 (Mihaylova's thesis): one record for each seed.

The accuracy is that after the epoch with the best validation accuracy. Beside it, if asked for, is
how many heads of the model's trees are those of a parser.
"""

from pathlib import Path

import fairseq_struct
from fairseq_struct.data.readers.conllu import read_conllu
from fairseq_struct.errors import report_plainly
from fairseq_struct.metrics.attachment import AttachmentScores
from fairseq_struct.records.scoring import log_of, publish, scoring_options, training_of

METRICS = ("accuracy", "macro_f1", "tree_depth")


def best_of(run: Path) -> dict:
    """Fields of a run's record: test metrics, ``accuracy_valid``, seed, updates, minutes.

    Raises:
        InputError: the run does not exist, its training did not end, or it validated no test set.
    """
    log = log_of(run)
    best = log.best_epoch("valid", "accuracy", highest=True)
    test = log.values("test", best)
    metrics = {name: test[name] for name in METRICS if name in test}
    metrics["accuracy_valid"] = log.value("valid", best, "accuracy")
    return {"metrics": metrics, **training_of(run)}


def agreement(run: Path, parsed: Path) -> dict[str, float]:
    """UAS and UUAS of the best trees against those of a parser, of the same sentences."""
    trees = list(read_conllu(parsed))
    model = fairseq_struct.load(run / "checkpoint_best.pt")
    scores = AttachmentScores()
    found = model.parse([" ".join(tree.words) for tree in trees])
    for heads, tree in zip(found, trees, strict=True):
        scores.add(heads, tree.heads)
    return {"uas": round(scores.uas, 2), "uuas": round(scores.uuas, 2)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--parsed", type=Path, help="the test sentences with a parser's trees")
    args = parser.parse_args()
    records = [best_of(run) for run in args.runs]
    if args.parsed:
        for run, record in zip(args.runs, records, strict=True):
            record["metrics"] |= agreement(run, args.parsed)
    publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
