"""Instances of a mixture of clusters."""

from itertools import cycle, islice

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from fairseq_struct.data.datasets.whole_batches import RowsByIndex
from fairseq_struct.data.generators.cluster_mixture import Instances


class ClusterMixtureDataset(RowsByIndex, FairseqDataset):
    """A fairseq dataset of instances in memory.

    The number of instances limits a batch; ``--max-tokens`` also counts instances.

    Args:
        instances: the data.
        batches_per_epoch: repeat the batches until an epoch has this many. With full batches, an
            epoch would be one update. fairseq's work around an epoch takes longer than the update.
    """

    def __init__(self, instances: Instances, batches_per_epoch: int = 0):
        self.instances = instances
        self.batches_per_epoch = batches_per_epoch
        self._everything = self._sample(torch.arange(len(self)), instances)

    def __len__(self) -> int:
        return len(self.instances.targets)

    def collater(self, indices) -> dict:
        """The sample of the instances at ``indices`` (n,)."""
        if len(indices) == len(self):  # all the data, without a copy
            return self._everything
        rows = torch.as_tensor(np.asarray(indices, dtype=np.int64))
        every = self.instances
        part = Instances(every.inputs[rows], every.targets[rows], every.clusters[rows])
        return self._sample(rows, part)

    @staticmethod
    def _sample(ids: Tensor, instances: Instances) -> dict:
        return {"id": ids, "nsentences": len(ids), "net_input": vars(instances)}

    def num_tokens(self, index: int) -> int:
        return 1

    def size(self, index: int) -> int:
        return 1

    def ordered_indices(self) -> np.ndarray:
        return np.arange(len(self))

    def batch_by_size(
        self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1
    ) -> list[np.ndarray]:
        """Cut ``indices`` into batches; none is left out, and the required multiple is ignored."""
        size = min(filter(None, (max_tokens, max_sentences, len(indices))))
        batches = [indices[start : start + size] for start in range(0, len(indices), size)]
        wanted = max(len(batches), self.batches_per_epoch)
        return list(islice(cycle(batches), wanted))
