"""Datasets whose batches hold every instance."""

from abc import abstractmethod

import numpy as np
from fairseq.data import FairseqDataset

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
    """Dataset of sentences with ``sizes``, an array of their numbers of words."""

    @property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return int(self.sizes.max(initial=0))

    def num_tokens(self, index: int) -> int:
        """Words of a sentence."""
        return int(self.sizes[index])

    def size(self, index: int) -> int:
        """Words of a sentence."""
        return int(self.sizes[index])


class ShuffledBySize(SizedSentences):
    """Sentences of which, with ``shuffle``, a batch holds some of similar length.

    Attributes:
        shuffle: change the order of the sentences in every epoch.
        seed: seed of that order.
        epoch: the current one.
    """

    shuffle, seed, epoch = False, 1, 1

    def ordered_indices(self) -> np.ndarray:
        """Indices; with ``shuffle`` sorted by length, and equal lengths in random order."""
        if not self.shuffle:
            return np.arange(len(self))
        order = np.random.default_rng((self.seed, self.epoch)).permutation(len(self))
        return order[np.argsort(self.sizes[order], kind="stable")]

    def set_epoch(self, epoch: int):
        """Set the epoch, which changes the order with ``shuffle``."""
        self.epoch = epoch

    @property
    def can_reuse_epoch_itr_across_epochs(self) -> bool:
        """False with ``shuffle``: every epoch has different batches."""
        return not self.shuffle
