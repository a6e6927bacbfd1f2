"""A fairseq dataset of labelled images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from fairseq.data import data_utils
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import RowsByIndex, ShuffledEachEpoch, WholeBatches

WHITE = 255


class LabelledImages(RowsByIndex, ShuffledEachEpoch, WholeBatches):
    """Images with their labels; in fairseq's terms, an image is one token.

    Args:
        images: (n, height, width) bytes.
        labels: (n,) bytes.
        shuffle: change the order of the images in every epoch.
        seed: seed of that order.
    """

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, shuffle: bool = False, seed: int = 1
    ):
        self.images, self.labels, self.shuffle, self.seed = images, labels, shuffle, seed

    def __len__(self) -> int:
        return len(self.images)

    def collater(self, items: Sequence[int]) -> dict:
        """A batch; ``net_input`` has ``images`` (batch, 1, height, width) and ``labels``."""
        if not len(items):
            return {}
        places = np.asarray(items)
        given = {
            "images": pixels_of(self.images[places]),
            "labels": torch.from_numpy(self.labels[places].astype(np.int64)),
        }
        return {
            "id": torch.from_numpy(places),
            "nsentences": len(places),
            "ntokens": len(places),
            "net_input": given,
        }

    def num_tokens(self, index: int) -> int:
        return 1

    def size(self, index: int) -> int:
        return 1

    def ordered_indices(self) -> np.ndarray:
        if not self.shuffle:
            return np.arange(len(self))
        with data_utils.numpy_seed(self.seed, self.epoch):
            return np.random.permutation(len(self))

    @property
    def longest(self) -> int:
        """Always 1: an image is one token."""
        return 1


def pixels_of(images: np.ndarray) -> Tensor:
    """Bytes (n, height, width) as (n, 1, height, width) from -1, black, to 1, white."""
    return torch.from_numpy(images.astype(np.float32) * (2 / WHITE) - 1).unsqueeze(1)
