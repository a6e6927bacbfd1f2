"""Sentences with masked words, which a model predicts from the other words."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import (
    ShuffledEachEpoch,
    SizedSentences,
    by_size,
    padded,
    sizes_of,
)


class MaskedSentences(ShuffledEachEpoch, SizedSentences):
    """Sentences in which every word is masked independently (Shen's thesis, section 4.3.1).

    A drawn word is always replaced by the mask symbol. Unknown words are never drawn. The draw
    depends only on the seed, the epoch and the sentence's number. A batch holds sentences of
    similar length, and every epoch has different batches.

    Args:
        sentences: (n,) integers each, without an end symbol.
        padding, unknown, mask: indices of these symbols.
        rate: probability that a word is masked.
        seed: seed of the draws.
        draws: number of draws of each sentence per epoch; the dataset counts each draw as one
            sentence.
        shuffle: draw different words, and batches, in every epoch.
    """

    def __init__(
        self, sentences: Sequence[Tensor], padding: int, unknown: int, mask: int, rate: float,
        seed: int = 1, draws: int = 1, shuffle: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.sentences = sentences
        self.padding, self.unknown, self.mask = padding, unknown, mask
        self.rate, self.seed, self.draws, self.shuffle = rate, seed, draws, shuffle

    @cached_property
    def sizes(self) -> np.ndarray:
        """Words of each draw of each sentence."""
        sizes = sizes_of(self.sentences)
        return sizes if self.draws == 1 else np.repeat(sizes, self.draws)

    def __len__(self) -> int:
        return len(self.sentences) * self.draws

    def __getitem__(self, index: int) -> dict:
        place, draw = divmod(int(index), self.draws)
        words = self.sentences[place]
        epoch = self.epoch if self.shuffle else 0
        random = np.random.default_rng((self.seed, epoch, place, draw))
        hidden = torch.from_numpy(random.random(len(words)) < self.rate)
        return {"id": int(index), "words": words.long(), "hidden": hidden & (words != self.unknown)}

    def collater(self, samples: list[dict]) -> dict:
        """A batch: the model's input and the words to predict.

        Returns:
            ``net_input`` with ``tokens`` (batch, n), ``lengths`` (batch,) and ``hidden`` (batch, n)
            booleans; ``target``, the hidden words in batch order.
        """
        if not samples:
            return {}
        lengths = torch.tensor([len(sample["words"]) for sample in samples])
        tokens = padded([sample["words"] for sample in samples], self.padding)
        hidden = padded([sample["hidden"] for sample in samples], False)
        return {
            "id": torch.tensor([sample["id"] for sample in samples]),
            "net_input": {
                "tokens": tokens.masked_fill(hidden, self.mask),
                "lengths": lengths,
                "hidden": hidden,
            },
            "target": tokens[hidden],
            "ntokens": int(hidden.sum()),
            "nsentences": len(samples),
        }

    def ordered_indices(self) -> np.ndarray:
        """Indices sorted by length; equal lengths are shuffled, in every epoch with ``shuffle``."""
        random = np.random.default_rng((self.seed, self.epoch if self.shuffle else 0))
        order = random.permutation(len(self))
        return by_size(order, self.sizes)
