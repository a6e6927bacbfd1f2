"""Pictures of images that undirected networks infer."""

from __future__ import annotations

import argparse


def prototypes(tool, args: argparse.Namespace):
    """An image of each label, in a row for each number of passes."""
    from fairseq_struct.pages.image_grid import image_grid

    every = range(1, args.most_passes + 1)
    grid = [(str(passes), tool.prototypes(passes).numpy()) for passes in every]
    return image_grid(grid, list(map(str, range(len(grid[0][1])))))


def completions(tool, args: argparse.Namespace):
    """Images, what is given of them, and what is inferred, in a row for each number of passes.

    Raises:
        InputError: the file of images is damaged, or its images do not fit the network.
    """
    import numpy as np

    from fairseq_struct.data.readers.idx import read_idx
    from fairseq_struct.pages.image_grid import image_grid

    images = read_idx(args.images, 3)[: args.count]
    hidden = np.zeros(images.shape[1:], dtype=bool)
    hidden[images.shape[1] // 2 :] = True
    whole = images / 255
    every = range(1, args.most_passes + 1)
    inferred = [(str(n), tool.complete(images, hidden, n).numpy()) for n in every]
    return image_grid([("image", whole), ("given", np.where(hidden, 0.5, whole)), *inferred])
