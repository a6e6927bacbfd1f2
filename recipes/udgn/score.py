"""Score a masked language model: its perplexity, and its trees against gold trees."""

from pathlib import Path

import fairseq_struct
from fairseq_struct.data.prepared.treebank_folder import as_text
from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.evaluation.dependencies import trivial_heads
from fairseq_struct.evaluation.predictions import TRIVIAL_HEADS, draws_of
from fairseq_struct.inference import made_by
from fairseq_struct.metrics.attachment import scores_of_readings
from fairseq_struct.metrics.direction import direction_scores
from fairseq_struct.records.scoring import log_of, publish, scoring_options
from fairseq_struct.records.training_log import TrainingLog

WSJ_SAMPLE = 3914  # sentences
OF_SAMPLE = ("wsj_sample", "direction", "ptb_hours")  # experiments
GENERATED = "generated corpus"


def perplexities(log: TrainingLog) -> dict[str, float]:
    """Perplexities of the test and validation split, after the epoch that is best in validation."""
    best = log.best_epoch("valid", "loss")
    return {"ppl": log.value("test", best, "ppl"), "ppl_valid": log.value("valid", best, "ppl")}


def readings_of(gold, checkpoint: Path) -> list[dict]:
    """A model's best trees, and each word's best head with and without the root."""
    sentences = [" ".join(tree.words) for tree in gold]
    return list(fairseq_struct.load(checkpoint).readings(sentences))


def trivial_trees(gold, name: str, seed: int) -> list[dict]:
    """Trees that need no model; random ones are drawn with a seed."""
    make = trivial_heads(name, seed)
    return [{"": make(len(tree.heads))} for tree in gold]


def trivial(gold, name: str, seed: int) -> dict[str, float]:
    """Scores of trivial trees."""
    return scores_of_readings([tree.heads for tree in gold], trivial_trees(gold, name, seed))


def scores(gold, found: list[dict], experiment: str) -> dict[str, float]:
    """Scores of trees against gold ones; those of the sample also by the directions of arcs."""
    heads = [tree.heads for tree in gold]
    metrics = scores_of_readings(heads, found)
    if experiment in OF_SAMPLE:
        trees = [own[""][: len(their)] for their, own in zip(heads, found, strict=True)]
        of_trees = direction_scores(heads, trees)
        metrics |= {name: of_trees[name] for name in ("direction", "uas_rooted")}
    return metrics


def main():
    report_plainly()
    parser = scoring_options(__doc__, "checkpoint")
    parser.add_argument("--checkpoint", type=Path, help="model (default: RUN/checkpoint_best.pt)")
    parser.add_argument("--trees", type=Path, help="treebank with the gold trees")
    args = parser.parse_args()
    metrics, minutes, made = {}, 0.0, {"seed": 1, "updates": 0}
    if args.run:
        log = log_of(args.run)
        metrics, minutes = perplexities(log), log.minutes
    checkpoint = args.checkpoint or (args.run / "checkpoint_best.pt" if args.run else None)
    if checkpoint:
        # The number of updates is read from a run's last checkpoint: the best one may have fewer.
        made = made_by(args.run / "checkpoint_last.pt" if args.run else checkpoint)
    if args.variant == "checkpoint":
        args.variant = made["model"].removesuffix("_ptb")
        args.data += f"; {made['text']}"
    if args.scale == "checkpoint":
        sizes = made["options"]["embed_dim"], made["options"]["layers"]
        trained = log_of(checkpoint.parent).splits["train"] if made["epochs"] >= 100 else ()
        whole = len(trained) >= 100 and (checkpoint.parent / "finished").is_file()
        args.scale = "paper" if sizes == (512, 8) and whole else "reduced"
    runs = [{"metrics": metrics, "seed": made["seed"]}]
    if args.trees:
        gold = as_text(read_treebank(args.trees))
        if args.experiment in OF_SAMPLE and args.results and len(gold) != WSJ_SAMPLE:
            raise InputError(
                f"{args.trees}: {len(gold)} sentences, but records are for the sample of "
                f"{WSJ_SAMPLE}; set RECORD=0 to score these sentences without a record"
            )
        if args.variant in TRIVIAL_HEADS:
            seeds = draws_of(args.variant)
            drawn = ((seed, trivial_trees(gold, args.variant, seed)) for seed in seeds)
        else:
            drawn = [(made["seed"], readings_of(gold, checkpoint))]
        runs = [
            {"metrics": metrics | scores(gold, found, args.experiment), "seed": seed}
            for seed, found in drawn
        ]
        args.data += f"; {len(gold)} sentences"
    for run in runs:
        run["metrics"] = {name: round(value, 2) for name, value in run["metrics"].items()}
    # The numbers of Shen's thesis are of the Wall Street Journal.
    publish(args, runs, folder=Path(__file__).parent, updates=made["updates"],
            minutes=round(minutes, 1), paper=not args.data.startswith(GENERATED))  # fmt: skip


if __name__ == "__main__":
    main()
