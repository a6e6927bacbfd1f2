"""Datasets whose batches hold every instance."""

from abc import abstractmethod

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
