"""A corpus as parallel streams of tokens, read in windows for truncated backpropagation."""

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from fairseq_struct.data.datasets.mapped.tokens import MappedTokens
from fairseq_struct.errors import InputError


class TokenStreams(FairseqDataset):
    """Windows of a corpus that is cut into parallel streams, one stream per row of a batch.

    Row b of window i continues row b of window i - 1, so that a recurrent model can keep its
    state. Every token is predicted once. The input at each place is the token before it. The
    first token of the corpus has the end of sentence as its input. Padding follows the end of
    a stream.

    Args:
        tokens: (n,) the corpus, which may lie in a memory map.
        padding, end: indices of these symbols.
        window: number of tokens of a window.
        vary: draw new window sizes in every epoch (Merity et al., 2018): with probability 0.95
            from N(window, 5), else from N(window / 2, 5), and at least 5.
        seed: seed of the draws.
    """

    def __init__(
        self, tokens: Tensor | MappedTokens, padding: int, end: int, window: int,
        vary: bool = False, seed: int = 1,
    ):  # fmt: skip
        super().__init__()
        self.tokens, self.padding, self.end = tokens, padding, end
        self.window, self.vary, self.seed = window, vary, seed
        self.arrange(1)

    def arrange(self, streams: int, shards: int = 1):
        """Cut the corpus into ``streams`` for each of ``shards`` workers.

        Raises:
            InputError: there are fewer tokens than streams.
        """
        count, total = streams * shards, len(self.tokens)
        if total < count:
            raise InputError(f"{total} tokens are too few for {count} streams (--batch-size)")
        self.streams, self.shards = streams, shards
        self.longest = -(-total // count)
        self.epoch, self._starts = 1, None

    def set_epoch(self, epoch: int):
        """Set the epoch, which has windows of its own if they vary."""
        if epoch != self.epoch:
            self.epoch, self._starts = epoch, None

    @property
    def starts(self) -> np.ndarray:
        """Where the windows of the epoch begin in each stream, and its end, (windows + 1,)."""
        # Laid out when they are asked for: a long corpus as one stream has very many.
        if self._starts is None:
            self._starts = self._lay_out()
        return self._starts

    def _lay_out(self) -> np.ndarray:
        if not self.vary:
            return np.append(np.arange(0, self.longest, self.window), self.longest)
        ends = [0]
        draw = np.random.default_rng((self.seed, self.epoch))
        while ends[-1] < self.longest:
            mean = self.window if draw.random() < 0.95 else self.window / 2
            size = max(5, int(draw.normal(mean, 5)))
            ends.append(min(ends[-1] + size, self.longest))
        return np.array(ends)

    def __len__(self) -> int:
        """Number of windows of all workers."""
        return (len(self.starts) - 1) * self.shards

    def __getitem__(self, index: int) -> dict:
        """A window of one worker's streams; window i of worker s has index i * shards + s."""
        number, shard = divmod(index, self.shards)
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        rows = torch.arange(shard * self.streams, (shard + 1) * self.streams)[:, None]
        places = rows * self.longest + torch.arange(start, end)
        beyond = places >= len(self.tokens)
        target = self.tokens[places.masked_fill(beyond, 0)].long().masked_fill(beyond, self.padding)
        given = self.tokens[(places - 1).clamp(0, len(self.tokens) - 1)].long()
        given = given.masked_fill(places == 0, self.end).masked_fill(beyond, self.padding)
        return {
            "id": torch.tensor([index]),
            "nsentences": self.streams,
            "ntokens": int((~beyond).sum()),
            "net_input": {"src_tokens": given, "src_lengths": (~beyond).sum(1)},
            "target": target,
            "first": number == 0,
            "share": (end - start) / self.window,
        }

    def collater(self, samples: list[dict]) -> dict:
        """Return the only window of a batch."""
        (sample,) = samples
        return sample

    def num_tokens(self, index: int) -> int:
        """Number of tokens of a window, over all streams."""
        return self.size(index) * self.streams

    def size(self, index: int) -> int:
        """Number of tokens of a window in each stream."""
        number = index // self.shards
        return int(self.starts[number + 1] - self.starts[number])

    def ordered_indices(self) -> np.ndarray:
        """All windows in text order."""
        return np.arange(len(self))
