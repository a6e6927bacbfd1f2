"""A generated mixture of clusters; each cluster has its own linear classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from fairseq_struct.errors import InputError


@dataclass
class Instances:
    """Instances of a mixture.

    Args:
        inputs: x, (n, dim).
        targets: y, (n,) zeros and ones.
        clusters: z, (n,) integers.
    """

    inputs: Tensor
    targets: Tensor
    clusters: Tensor


def generate_mixture(
    samples: Sequence[Mapping[str, int]],
    clusters: int = 10,
    dim: int = 100,
    sigma: float = 0.1,
    seed: int = 42,
) -> dict[str, Instances]:
    """Draw the synthetic data of Mihaylova's thesis, section 4.5.1.

    z ~ Categorical(1/K), x ~ Normal(m_z, sigma I), y = sign(w_z' x + b_z).

    The details that Mihaylova's thesis does not give follow the generator published with the
    paper of this experiment (Mihaylova et al., 2020). m_z and w_z are standard normal. sigma is
    the standard deviation. It is 0.1, so that the clusters lie far apart and only learning limits
    how well a model finds them. b_z is minus the mean of w_z' x over the cluster's instances in a
    sample, so that the two labels are about equally frequent in every cluster. Training and
    validation set are one sample, the test set is another. Dimension 100 is the hidden size in
    table A.1 of Mihaylova's thesis.

    The numbers are drawn in the order of that generator, and its seed is the default. So these
    are the data of Mihaylova et al. (2020). A linear model, whose training has only one optimum,
    gets 68.3 % of the test set with 3 clusters and 60.0 % with 10 (recipes/latent_clusters; their
    paper: 68.05 and 60.00).

    Args:
        samples: for each sample, in drawing order, the names of its subsets and the number of
            instances of each.
        clusters: K.
        dim: dimension of x.
        sigma: standard deviation of x around the centre of its cluster.
        seed: the same seed gives the same data.

    Returns:
        The instances of each subset.

    Raises:
        InputError: fewer than 2 clusters, or any other number out of range.
    """
    if clusters < 2:
        raise InputError(f"a mixture needs at least 2 clusters, not {clusters}")
    if dim < 1:
        raise InputError(f"the dimension of the data must be 1 or more, not {dim}")
    if not 0 < sigma < float("inf"):
        raise InputError(f"sigma must be above 0 and finite, not {sigma}")
    for name, size in (item for sizes in samples for item in sizes.items()):
        if size < 1:
            raise InputError(f"the {name} set needs at least 1 instance, not {size}")
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(clusters, dim, generator=generator)
    weights = torch.randn(clusters, dim, generator=generator)
    mixture = {}
    for sizes in samples:
        total = sum(sizes.values())
        z = torch.randint(clusters, (total,), generator=generator)
        x = centres[z] + sigma * torch.randn(total, dim, generator=generator)
        scores = (weights[z] * x).sum(1)
        sums = torch.zeros(clusters).index_add(0, z, scores)
        means = sums / torch.bincount(z, minlength=clusters)  # NaN, never read, without instances
        y = (scores > means[z]).float()
        parts = (part.split(list(sizes.values())) for part in (x, y, z))
        for name, *columns in zip(sizes, *parts, strict=True):
            mixture[name] = Instances(*columns)
    return mixture


class ClusterMixtureDataset(FairseqDataset):
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

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: np.ndarray) -> np.ndarray:
        """Return the indices: torch requests a whole batch, and the collater picks its rows."""
        return indices

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
