"""How many prototypes of a network another network takes for what they are."""

from pathlib import Path

import numpy as np
import torch
from images import load

from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import log_of, publish, scoring_options, seed_of


def recognised(run: Path, judge: Path) -> int:
    """The number of labels whose prototype the judge gives that label."""
    images = (255 * load(run).prototypes()).round().numpy().astype(np.uint8)
    labels = load(judge).classify_images(images).labels
    return int((labels == torch.arange(len(labels))).sum())


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--judges", type=Path, nargs="+", required=True, help="folder of each one")
    args = parser.parse_args()
    args.data = "prototypes of the ten labels of MNIST, judged by a plain network"
    rows = []
    for run, judge in zip(args.runs, args.judges, strict=True):
        log = log_of(run)
        rows.append({
            "metrics": {"recognised": recognised(run, judge)}, "seed": seed_of(run),
            "updates": log.updates, "minutes": round(log.minutes, 1),
        })  # fmt: skip
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
