"""Score the translations of one variant, print the final line, and append the record."""

import argparse
import csv
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.metrics.bleu import Bleu, corpus_bleu
from fairseq_struct.records.results import Result, append_result, device_name
from fairseq_struct.records.training_log import logged

TABLE = Path(__file__).with_name("table_3_2.tsv")


def paper_values(experiment: str, variant: str) -> dict[str, float]:
    """The row of table 3.2, as metrics; empty for a corpus that the paper does not use."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file, delimiter="\t")}
    row = rows.get(variant, {})
    columns = {f"bleu_{split}": f"{experiment} {split}" for split in ("dev", "test")}
    return {metric: float(row[name]) for metric, name in columns.items() if name in row}


def score(references: Path, translations: Path) -> Bleu:
    """BLEU of one file against another, line by line."""
    read = [path.read_text(encoding="utf-8").split("\n") for path in (translations, references)]
    return corpus_bleu(*(lines[:-1] if lines[-1] == "" else lines for lines in read))


def training_facts(logs: list[Path]) -> dict[str, float]:
    """What fairseq-train's logs tell: minutes of training, and which checkpoint was best.

    Args:
        logs: of the shared warm-up, if any, and of the variant.

    Returns:
        ``minutes``, and where the validation BLEU was logged ``best_update``, the update of the
        best checkpoint, and ``bleu_dev_greedy_last``, the greedy BLEU after the last update.
    """
    text = "\n".join(log.read_text(errors="replace") for log in logs)
    entries = list(logged(text.splitlines()))
    # "wall" starts anew when a training resumes; the entries within epochs hold their own share.
    within = [entry.values for entry in entries if entry.split == "train_inner"]
    facts = {"minutes": round(sum(values["train_wall"] for values in within) / 60, 1)}
    validations = [x for x in entries if x.split == "valid" and "bleu" in x.values]
    if validations:
        facts["bleu_dev_greedy_last"] = validations[-1].values["bleu"]
        facts["best_update"] = max(validations, key=lambda entry: entry.values["bleu"]).update
    return facts


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="name of the experiment")
    parser.add_argument("--variant", required=True, help="row of table 3.2")
    parser.add_argument("--seed", type=int, required=True, help="seed of the training")
    parser.add_argument("--updates", type=int, required=True, help="updates of the training")
    parser.add_argument("--scale", required=True, help="paper or reduced")
    parser.add_argument("--data", required=True, help="what the data is, in words")
    parser.add_argument("--references", type=Path, required=True, help="folder of SPLIT.LANG")
    parser.add_argument("--translations", type=Path, required=True, help="folder of SPLIT.LANG")
    parser.add_argument("--target-lang", required=True, help="suffix of the files")
    parser.add_argument("--logs", type=Path, nargs="+", required=True, help="of fairseq-train")
    parser.add_argument("--command", required=True, help="command to record")
    parser.add_argument("--results", type=Path, help="file to append the record to")
    args = parser.parse_args()

    scores = {}
    for split, name in (("valid", "dev"), ("test", "test")):
        file = f"{split}.{args.target_lang}"
        scores[name] = score(args.references / file, args.translations / file)
        print(f"{name}: BLEU {scores[name].score:.2f} ({scores[name].signature})")
    paper = paper_values(args.experiment, args.variant)
    if args.results:
        facts = training_facts(args.logs)
        minutes = facts.pop("minutes")
        metrics = {f"bleu_{name}": round(bleu.score, 2) for name, bleu in scores.items()}
        result = Result(
            experiment=args.experiment,
            variant=args.variant,
            metrics=metrics | facts,
            paper=paper,
            scale=args.scale,
            data=args.data,
            seed=args.seed,
            updates=args.updates,
            device=device_name(),
            minutes=minutes,
            command=args.command,
        )
        append_result(args.results, result)
    beside = f" (paper: dev {paper['bleu_dev']:.2f} test {paper['bleu_test']:.2f})" if paper else ""
    print(f"BLEU dev {scores['dev'].score:.2f} test {scores['test'].score:.2f}{beside}")


if __name__ == "__main__":
    main()
