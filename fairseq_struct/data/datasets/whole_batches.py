"""What datasets share: whole batches, sizes of sentences, padding, an order for each epoch."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from fairseq_struct.errors import InputError


class WholeBatches(FairseqDataset):
    """Dataset with batches of any size.

    With a required multiple of the batch size, fairseq would drop the last instances.
    """

    @property
    @abstractmethod
    def longest(self) -> int:
        """Words of the longest sentence."""

    def batch_by_size(
        self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1
    ):
        """Make batches; ``required_batch_size_multiple`` is ignored.

        Raises:
            InputError: a sentence is longer than ``max_tokens``.
        """
        if max_tokens is not None and self.longest > max_tokens:
            raise InputError(
                f"--max-tokens {max_tokens} is too small: a sentence has {self.longest} words"
            )
        return super().batch_by_size(indices, max_tokens, max_sentences, 1)


class SizedSentences(WholeBatches):
    """Dataset of sentences with ``sizes``, an array of their numbers of words.

    If ``sizes`` is a cached property, it is pickled by none and made again in each worker process.
    """

    @property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return int(self.sizes.max(initial=0))

    def num_tokens(self, index: int) -> int:
        """Words of a sentence."""
        return int(self.sizes[index])

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        """Words of several sentences, for fairseq's batches."""
        return self.sizes[indices]

    def size(self, index: int) -> int:
        """Words of a sentence."""
        return int(self.sizes[index])

    def __getstate__(self) -> dict:
        kind = type(self)
        cached = {name for name in self.__dict__
                  if isinstance(getattr(kind, name, None), cached_property)}  # fmt: skip
        return {name: value for name, value in self.__dict__.items() if name not in cached}


class RowsByIndex:
    """Mixin of datasets in memory, whose collater picks the rows of a whole batch by index."""

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: np.ndarray) -> np.ndarray:
        """Return the indices: torch requests a whole batch, and the collater picks its rows."""
        return indices


class ShuffledEachEpoch:
    """Mixin of datasets whose order, with ``shuffle``, changes in every epoch.

    Each dataset draws the order by itself, some by fairseq's ``numpy_seed`` and some by a generator
    of their own: with another draw, a seed would no longer repeat the trainings on record.

    Attributes:
        shuffle: change the order in every epoch.
        seed: seed of that order.
        epoch: the current one.
    """

    shuffle, seed, epoch = False, 1, 1

    def set_epoch(self, epoch: int):
        """Set the epoch, which changes the order with ``shuffle``."""
        self.epoch = epoch

    @property
    def can_reuse_epoch_itr_across_epochs(self) -> bool:
        """False with ``shuffle``: every epoch has different batches."""
        return not self.shuffle


class ShuffledBySize(ShuffledEachEpoch, SizedSentences):
    """Sentences of which, with ``shuffle``, a batch holds some of similar length."""

    def ordered_indices(self) -> np.ndarray:
        """Indices; with ``shuffle`` sorted by length, and equal lengths in random order."""
        if not self.shuffle:
            return np.arange(len(self))
        order = np.random.default_rng((self.seed, self.epoch)).permutation(len(self))
        return by_size(order, self.sizes)


def sizes_of(sentences: Sequence[Tensor]) -> np.ndarray:
    """Lengths of sentences, (sentences,): their own ``sizes``, if they have any."""
    if hasattr(sentences, "sizes"):
        return sentences.sizes
    return np.array([len(sentence) for sentence in sentences], dtype=np.int64)


def by_size(order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Sort indices by size; those of equal sizes stay in order.

    Args:
        order: (n,) indices.
        sizes: of the item at each index.
    """
    keys = sizes[order]
    if len(keys) and 0 <= keys.min() and keys.max() < 1 << 15:
        keys = keys.astype(np.int16)  # numpy sorts small numbers in linear time
    return order[np.argsort(keys, kind="stable")]


def padded(rows: Sequence[Tensor], padding: int | bool) -> Tensor:
    """Tensors of integers or booleans as one, filled up to the largest size in every dimension."""
    sizes = [max(row.size(place) for row in rows) for place in range(rows[0].dim())]
    found = torch.full((len(rows), *sizes), padding)
    for own, row in zip(found, rows, strict=True):
        own[tuple(slice(size) for size in row.shape)] = row
    return found
