"""Data sets of which no batch leaves an instance out."""

from abc import abstractmethod

from fairseq.data import FairseqDataset

from fairseq_struct.errors import InputError


class WholeBatches(FairseqDataset):
    """Batches of any number of instances: of a multiple fairseq would lose the last ones."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """Words of the longest sentence."""

    def batch_by_size(
        self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1
    ):
        """Batches, whatever multiple is asked for.

        Raises:
            InputError: a sentence is longer than a batch may be.
        """
        if max_tokens is not None and self.longest > max_tokens:
            raise InputError(f"--max-tokens {max_tokens}, but a sentence has {self.longest} words")
        return super().batch_by_size(indices, max_tokens, max_sentences, 1)
