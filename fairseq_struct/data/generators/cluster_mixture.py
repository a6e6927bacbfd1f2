"""A generated mixture of clusters; each cluster has its own linear classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
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
