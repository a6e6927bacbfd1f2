"""A fairseq dataset of sentences with their dependency trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import ShuffledBySize, padded, sizes_of


class ParsedSentences(ShuffledBySize):
    """Sentences and the heads of their words.

    With ``shuffle``, a batch holds sentences of similar length, and every epoch has different
    batches.

    Args:
        sentences: what the parser reads of each sentence, integers (n, ...).
        heads: (n,) of each sentence, 1-based, 0 for the root.
        padding: integer that fills sentences.
        shuffle: change the order of the sentences in every epoch.
        seed: seed of that order.
    """

    def __init__(
        self, sentences: Sequence[Tensor], heads: Sequence[Tensor], padding: int,
        shuffle: bool = False, seed: int = 1,
    ):  # fmt: skip
        super().__init__()
        self.sentences, self.heads, self.padding = sentences, heads, padding
        self.shuffle, self.seed = shuffle, seed

    @cached_property
    def sizes(self) -> np.ndarray:
        """Words of each sentence."""
        return sizes_of(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> dict:
        return {"id": index, "words": self.sentences[index], "heads": self.heads[index]}

    def collater(self, items: Sequence[dict]) -> dict:
        """A batch: ``net_input`` with ``tokens`` and ``lengths`` (batch,), and ``target``.

        ``target`` (batch, n) are the gold heads, 0 beyond a sentence's end.
        """
        if not items:
            return {}
        lengths = torch.tensor([len(item["words"]) for item in items])
        return {
            "id": torch.tensor([item["id"] for item in items]),
            "net_input": {
                "tokens": padded([item["words"] for item in items], self.padding),
                "lengths": lengths,
            },
            "target": padded([item["heads"] for item in items], 0),
            "ntokens": int(lengths.sum()),
            "nsentences": len(items),
        }
