"""Score the translations of one variant, print the final line, and append the record."""

import argparse
import csv
import json
import os
import re
from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.metrics.bleu import Bleu, corpus_bleu
from fairseq_struct.metrics.results import Result, append_result, device_name

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


def training_minutes(log: Path) -> float:
    """Training time, over all resumes, from the last log entry of fairseq-train."""
    walls = re.findall(r'"(?:train_)?wall": "([\d.]+)"', log.read_text(errors="replace"))
    entries = re.findall(r"\| train_inner \| (\{.*\})", log.read_text(errors="replace"))
    return float(json.loads(entries[-1])["wall"]) / 60 if entries else float(walls[-1]) / 60


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
    parser.add_argument("--log", type=Path, required=True, help="log of fairseq-train")
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
        threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
        result = Result(
            experiment=args.experiment,
            variant=args.variant,
            metrics={f"bleu_{name}": round(bleu.score, 2) for name, bleu in scores.items()},
            paper=paper,
            scale=args.scale,
            data=args.data,
            seed=args.seed,
            updates=args.updates,
            device=device_name(threads),
            minutes=round(training_minutes(args.log), 1),
            command=args.command,
        )
        append_result(args.results, result)
    if paper:
        beside = f"paper: dev {paper['bleu_dev']:.2f} test {paper['bleu_test']:.2f}"
    else:
        beside = "paper: not on this corpus"
    print(f"BLEU dev {scores['dev'].score:.2f} test {scores['test'].score:.2f} ({beside})")


if __name__ == "__main__":
    main()
