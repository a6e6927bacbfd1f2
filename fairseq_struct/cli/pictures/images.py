"""Pictures of images that undirected networks infer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def prototypes(tool, most_passes: int, images: np.ndarray | None = None):
    """An image of each label, in a row for each number of passes."""
    from fairseq_struct.pages.grids.image_grid import image_grid

    every = range(1, most_passes + 1)
    grid = [(str(passes), tool.prototypes(passes).numpy()) for passes in every]
    return image_grid(grid, list(map(str, range(len(grid[0][1])))))


def completions(tool, most_passes: int, images: np.ndarray):
    """Images, what is given of them, and what is inferred, in a row for each number of passes.

    Args:
        tool: a network of images.
        most_passes: number of the last row.
        images: (n, height, width), bytes.

    Raises:
        InputError: the images do not fit the network.
    """
    import numpy as np

    from fairseq_struct.pages.grids.image_grid import image_grid

    hidden = np.zeros(images.shape[1:], dtype=bool)
    hidden[images.shape[1] // 2 :] = True
    whole = images / 255
    every = range(1, most_passes + 1)
    inferred = [(str(n), tool.complete(images, hidden, n).numpy()) for n in every]
    return image_grid([("image", whole), ("given", np.where(hidden, 0.5, whole)), *inferred])
