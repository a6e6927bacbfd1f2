"""Prototypes of networks of images: are they recognised, and are they like images of their label?

``recognised`` is the number of labels whose prototype another network, the judge, gives that label.
A judge is as easily led by an image that is no digit, but has the features of one. So ``pixels`` is
the share in % of the test images' pixels that the prototype of their label has right, on or off; an
empty prototype has those that are off, ``pixels_empty``. Prototypes are those after as many passes
as in training, and, with the ending ``_5``, after five.
"""

from pathlib import Path

import numpy as np
import torch
from images import load

from fairseq_struct.data.readers.idx import read_images
from fairseq_struct.errors import report_plainly
from fairseq_struct.records.scoring import publish, scoring_options, training_of

GREY = 127.5


def recognised(prototypes: np.ndarray, judge) -> int:
    """The number of labels whose prototype the judge gives that label."""
    labels = judge.classify_images(prototypes).labels
    return int((labels == torch.arange(len(labels))).sum())


def pixels_right(prototypes: np.ndarray, test) -> float:
    """Share in % of the pixels of images that the prototype of their label has right."""
    images, labels = test
    return round(100 * float(((prototypes > GREY)[labels] == (images > GREY)).mean()), 2)


def metrics_of(run: Path, judge: Path, test) -> dict[str, float]:
    """All numbers of a run."""
    model, other, found = load(run), load(judge), {}
    for ending, passes in (("", None), ("_5", 5)):
        made = (255 * model.prototypes(passes)).round().numpy().astype(np.uint8)
        found[f"recognised{ending}"] = recognised(made, other)
        found[f"pixels{ending}"] = pixels_right(made, test)
    return found | {"pixels_empty": pixels_right(np.zeros_like(made), test)}


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="folder of the idx files")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="folder of each seed")
    parser.add_argument("--judges", type=Path, nargs="+", required=True, help="folder of each one")
    args = parser.parse_args()
    args.data = "prototypes of the ten labels of MNIST, judged by a plain network"
    rows, test = [], read_images(args.images, "test")
    for run, judge in zip(args.runs, args.judges, strict=True):
        rows.append({"metrics": metrics_of(run, judge, test), **training_of(run)})
    publish(args, rows, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()
