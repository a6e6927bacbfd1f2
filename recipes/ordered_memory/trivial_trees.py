"""F1 of trivial trees of formulas: what the trees of a model must be better than."""

from pathlib import Path

from score import Trees, instances_of, long_splits

from fairseq_struct.errors import report_plainly
from fairseq_struct.evaluation.brackets import trivial_spans
from fairseq_struct.evaluation.predictions import draws_of
from fairseq_struct.records.scoring import publish, scoring_options

NAMES = ("left_branching", "right_branching", "random")


def f1_of(name: str, seed: int, parts: dict, kind: str, long: bool) -> dict[str, float]:
    """F1 of trivial trees, by split if these are of long formulas."""
    metrics = {}
    for split, instances in parts.items():
        trees, make = Trees(kind), trivial_spans(name, seed)
        for words in (side.split() for instance in instances for side in instance):
            trees.add(words, make(len(words)))
        found = trees.metrics()
        metrics |= {f"f1_{split.removeprefix('test_')}": found["f1"]} if long else found
    return metrics


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--kind", choices=("proplogic", "listops"), required=True)
    parser.add_argument("--text", type=Path, required=True, help="folder of the prepared text")
    args = parser.parse_args()
    long = args.experiment == "listops_long"
    splits = long_splits(args.text) if long else ["test"]
    task = "propositional logic" if args.kind == "proplogic" else "ListOps"
    args.data = f"{task}, trivial trees over all tokens"
    parts = {split: instances_of(args.text, split)[0] for split in splits}
    for args.variant in NAMES:
        runs = [
            {"metrics": f1_of(args.variant, seed, parts, args.kind, long), "seed": seed}
            for seed in draws_of(args.variant)
        ]
        publish(args, runs, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
