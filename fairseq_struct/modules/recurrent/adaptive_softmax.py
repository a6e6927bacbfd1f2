"""Adaptive softmax: a softmax over many words whose cost is that of the frequent ones."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class AdaptiveSoftmax(nn.AdaptiveLogSoftmaxWithLoss):
    """Log-probabilities of words in clusters of falling frequency (Grave et al., 2017).

    The head is a softmax over the most frequent words and one symbol for each cluster of other
    words: p(w) = p(cluster | h) p(w | cluster, h). The k-th cluster reads a projection of h to
    size / factor^k. The words have to be sorted by frequency, as fairseq's dictionaries are.

    The weights, their names and how they start are torch's. The two methods below add to it:
    log-probabilities are float32 or float64 whatever the weights are, and every weight has a
    gradient in every step, 0 where no target is in its cluster, as distributed training needs.

    Args:
        size: size of h.
        words: number of words.
        cutoffs: the first word of each cluster, an increasing sequence.
        factor: how much smaller each cluster's projection is than that before it.

    Raises:
        ValueError: cutoffs are missing, do not increase, or are not within 1 to words - 1; or the
            factor is below 1, or leaves a cluster no projection.
    """

    def __init__(self, size: int, words: int, cutoffs: Sequence[int], factor: float = 4.0):
        given = ",".join(map(str, cutoffs))
        if not cutoffs or any(a >= b for a, b in zip(cutoffs, cutoffs[1:], strict=False)):
            raise ValueError(f"the cutoffs must be increasing numbers, not {given!r}")
        if cutoffs[0] < 1 or cutoffs[-1] >= words:
            raise ValueError(
                f"the cutoffs must be 1 or more and below the dictionary's {words} words, "
                f"not {given!r}"
            )
        if not 1 <= factor < float("inf"):
            raise ValueError(f"the factor of an adaptive softmax must be 1 or more, not {factor}")
        smallest = size
        for _ in cutoffs:  # a power could overflow
            smallest /= factor
        if smallest < 1:
            raise ValueError(
                f"a factor of {factor:g} leaves nothing of a layer of {size} for the last of "
                f"{len(cutoffs)} clusters"
            )
        super().__init__(size, words, cutoffs, factor)

    def of_targets(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """log p of one word for each state, (N,); only the targets' clusters are computed.

        Args:
            hidden: (N, size) h.
            targets: (N,) words.
        """
        in_head, rows, local = targets, [], []
        bounds = zip(self.cutoffs, self.cutoffs[1:], strict=False)
        for number, ((first, end), cluster) in enumerate(zip(bounds, self.tail, strict=True)):
            inside = (targets >= first) & (targets < end)
            own = inside.nonzero().squeeze(1)
            scores = _log_softmax(cluster(hidden.index_select(0, own)))
            rows.append(own)
            local.append(scores.gather(1, (targets[own] - first)[:, None]).squeeze(1))
            in_head = in_head.masked_fill(inside, self.shortlist_size + number)
        scores = _log_softmax(self.head(hidden)).gather(1, in_head[:, None]).squeeze(1)
        return scores.index_add(0, torch.cat(rows), torch.cat(local))

    def of_all_words(self, hidden: Tensor) -> Tensor:
        """log p of all words, (..., words).

        Args:
            hidden: (..., size) h.
        """
        head = _log_softmax(self.head(hidden))
        shortlist, clusters = head.split([self.shortlist_size, self.n_clusters], -1)
        parts = [
            _log_softmax(cluster(hidden)) + chosen
            for cluster, chosen in zip(self.tail, clusters.split(1, -1), strict=True)
        ]
        return torch.cat([shortlist, *parts], -1)


def _log_softmax(scores: Tensor) -> Tensor:
    return scores.log_softmax(-1, torch.promote_types(scores.dtype, torch.float32))
