"""Rank correlations of a fine-tuned model, after the epoch that is best on the development set.

The models of Shen's thesis were pretrained on 42 million words.
"""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.records.scoring import log_of, publish, scoring_options

SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--pretrained", type=Path, required=True, help="initial checkpoint")
    args = parser.parse_args()
    log = log_of(args.run)
    best = log.best_epoch("valid", "spearman", highest=True)
    metrics = {name: log.value(name, best, "spearman") for name in SETS if name in log.splits}
    if len(metrics) == len(SETS):
        metrics["average"] = round(sum(metrics.values()) / len(metrics), 2)
    before, now = made_by(args.pretrained), made_by(args.run / "checkpoint_last.pt")
    args.data = (
        f"epoch {best} of {len(log.splits['train'])} on the STS Benchmark; before that Penn "
        f"Treebank, {before['text']}"
    )
    publish(args, [{"metrics": metrics}], folder=Path(__file__).parent, seed=now["seed"],
            updates=now["updates"], minutes=round(log.minutes, 1))  # fmt: skip


if __name__ == "__main__":
    main()
