"""Generate small images of digits as idx files, for ``--task image_classification``.

    fairseq-struct prepare image_classification generate OUT --images 600 100 --size 16

MNIST needs no preparation: name the folder of its four idx files in its place. OUT has files of the
same names. The digits are those of a seven-segment display, shifted, with noise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_seed,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.generators.toy_images import LEAST_SIZE, draw_digits
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.readers.idx import FILES, write_idx

GENERATE = "generate"
LEAST_IMAGES = 10


def run(args: argparse.Namespace) -> None:
    """Draw the images.

    Raises:
        InputError: OUT holds something else, or cannot be written.
    """
    counts = dict(zip(FILES, args.images, strict=True))
    options = {"images": counts, "size": args.size, "noise": args.noise, "seed": args.seed}

    def fill(folder: Path) -> dict:
        for number, (split, names) in enumerate(FILES.items()):
            seed = [args.seed, number]
            drawn = draw_digits(counts[split], args.size, seed, args.noise)
            for name, array in zip(names, drawn, strict=True):
                write_idx(folder / f"{name}.gz", array)
        return {"counts": counts}

    identity = {"preparation": "images", "corpus": "seven-segment digits", "options": options}
    write_prepared_folder(
        args.out, identity, fill, generator=draw_digits.__module__, overwrite=args.overwrite,
        say=say,
    )  # fmt: skip
    for split, count in counts.items():
        print(f"{split}: {count} images of {args.size} by {args.size} pixels")
    print(how_to_train(args.out, "undirected_convnet_mnist_cpu"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    parser.add_argument("kind", metavar=GENERATE, type=_kind, help="draw the images")
    parser.add_argument(
        "--images", nargs=2, type=at_least(LEAST_IMAGES), default=(6000, 1000),
        metavar=("TRAIN", "TEST"), help="images of each split (default: 6000 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--size", type=at_least(LEAST_SIZE), default=28, metavar="N",
        help="height and width in pixels (default: 28)",
    )  # fmt: skip
    parser.add_argument(
        "--noise", type=at_least(0, float), default=0.1, metavar="X",
        help="standard deviation of a pixel, between 0 for black and 1 for white (default: 0.1)",
    )  # fmt: skip
    add_seed(parser, "all draws")
    add_folder_options(parser)


def _kind(word: str) -> str:
    if word != GENERATE:
        raise argparse.ArgumentTypeError(
            f"{word!r} is no kind: images are drawn ({GENERATE}); MNIST needs no preparation, give "
            "its folder to fairseq-struct train"
        )
    return word
