"""Score a masked language model: its perplexity, and its trees beside gold ones."""

import argparse
from pathlib import Path

import torch

import fairseq_struct
from fairseq_struct.data.prepared.treebank_folder import as_text
from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.inference import made_by
from fairseq_struct.metrics.attachment import scores_of_readings
from fairseq_struct.records.results import Result, append_result, device_name
from fairseq_struct.records.training_log import TrainingLog, read_log
from fairseq_struct.structure.dependency import chains

WSJ_SAMPLE = 3914  # sentences
GENERATED = "generated corpus"
TRIVIAL = ("right_chain", "left_chain", "random")
# Shen's thesis, chapter 4, tables 6, 7 and 9.
PARSING = ("uas", "uuas", "uas_argmax", "uuas_argmax")
ABLATION = {
    "udgn": (60.4, 50.2, 61.2, 52.5, 58.8), "no_nonlinearity": (61.2, 45.6, 60.8, 49.5, 56.8),
    "no_gates": (69.5, 26.1, 48.9, 31.5, 40.7), "sigmoid": (73.6, 40.4, 56.6, 44.7, 54.4),
    "single_channel": (663.1, 1.3, 6.1, 3.2, 6.0),
    "absolute_positions": (65.2, 44.8, 58.2, 47.1, 55.4),
}  # fmt: skip
PAPER = {
    "ptb": {"udgn": {"ppl": 60.4}, "structformer": {"ppl": 64.8},
            "masked_transformer": {"ppl": 68.9}},
    "wsj_sample": {"udgn": dict(zip(PARSING, ABLATION["udgn"][1:], strict=True)),
                   "structformer": {"uas": 46.2}},
    "ablation": {row: dict(zip(("ppl", *PARSING), values, strict=True))
                 for row, values in ABLATION.items()},
}  # fmt: skip


def perplexities(log: TrainingLog) -> dict[str, float]:
    """Those of the test and the validation split, after the epoch that is best for the latter."""
    best = log.best_epoch("valid", "loss")
    return {"ppl": log.value("test", best, "ppl"), "ppl_valid": log.value("valid", best, "ppl")}


def parsing(gold, checkpoint: Path) -> dict[str, float]:
    """Scores of a model's best trees, and of each word's best head, with and without the root."""
    sentences = [" ".join(tree.words) for tree in gold]
    found = fairseq_struct.load(checkpoint).readings(sentences)
    return scores_of_readings([tree.heads for tree in gold], found)


def trivial(gold, name: str) -> dict[str, float]:
    """Scores of trees without a model, random ones by seed 1."""
    lengths = [len(tree.heads) for tree in gold]
    if name == "random":
        every = chains.random_trees(torch.tensor(lengths), torch.Generator().manual_seed(1))
        heads = [row[:n] for row, n in zip(every.tolist(), lengths, strict=True)]
    else:
        heads = [getattr(chains, name)(n) for n in lengths]
    return scores_of_readings([tree.heads for tree in gold], ({"": own} for own in heads))


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="name of the experiment")
    parser.add_argument("--variant", required=True, help="which model; checkpoint: by its kind")
    parser.add_argument("--scale", choices=("paper", "reduced", "checkpoint"), required=True)
    parser.add_argument("--data", required=True, help="what the numbers are of, in words")
    parser.add_argument("--run", type=Path, help="folder with train.log, for perplexities")
    parser.add_argument("--checkpoint", type=Path, help="whose trees (RUN/checkpoint_best.pt)")
    parser.add_argument("--trees", type=Path, help="treebank to score trees by")
    parser.add_argument("--command", required=True, help="what has made the run")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()
    metrics, minutes, made = {}, 0.0, {"seed": 1, "updates": 0}
    data, variant = args.data, args.variant
    if args.run:
        log = read_log(args.run / "train.log")
        metrics, minutes = perplexities(log), log.minutes
    checkpoint = args.checkpoint or (args.run / "checkpoint_best.pt" if args.run else None)
    if checkpoint:
        # Of a run the last checkpoint counts the updates, of which the best one may have fewer.
        last = args.run / "checkpoint_last.pt" if args.run else checkpoint
        made = made_by(last)
    if variant == "checkpoint":
        variant = made["model"]
        data += f"; {made['text']}"
    scale = args.scale
    if scale == "checkpoint":
        sizes = made["options"]["embed_dim"], made["options"]["layers"]
        whole = made["epochs"] >= 100 and (checkpoint.parent / "finished").is_file()
        scale = "paper" if sizes == (512, 8) and whole else "reduced"
    if args.trees:
        gold = as_text(read_treebank(args.trees))
        if args.experiment == "wsj_sample" and args.results and len(gold) != WSJ_SAMPLE:
            raise InputError(
                f"{args.trees}: {len(gold)} sentences, but the sample, of which records are kept, "
                f"has {WSJ_SAMPLE}; without RECORD=1 they are scored and nothing is recorded"
            )
        metrics |= trivial(gold, variant) if variant in TRIVIAL else parsing(gold, checkpoint)
        data += f"; {len(gold)} sentences"
    metrics = {name: round(value, 2) for name, value in metrics.items()}
    # The thesis's numbers are of the Wall Street Journal.
    paper = {} if data.startswith(GENERATED) else PAPER.get(args.experiment, {}).get(variant, {})
    shown = "  ".join(f"{name} {value:.2f}" for name, value in metrics.items())
    beside = ", ".join(f"{name} {value}" for name, value in paper.items())
    print(f"{args.experiment} {variant}: {shown} (paper: {beside or '-'})")
    if args.results:
        append_result(args.results, Result(
            experiment=args.experiment, variant=variant, metrics=metrics, paper=paper,
            scale=scale, data=data, seed=made["seed"], updates=made["updates"],
            device=device_name(), minutes=round(minutes), command=args.command,
        ))  # fmt: skip


if __name__ == "__main__":
    main()
