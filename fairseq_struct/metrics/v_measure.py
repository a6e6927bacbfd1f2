"""Agreement of a clustering with the true classes; names of clusters do not matter."""

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.checks import is_integral


def contingency_table(classes: Tensor, clusters: Tensor, count: int) -> Tensor:
    """How many instances of each true class went into each cluster.

    Tables of parts of a data set add up to the table of the whole data set.

    Args:
        classes: (n,) true classes below ``count``, integers of any type.
        clusters: (n,) predicted clusters below ``count``, likewise.
        count: number of classes, and of clusters.

    Returns:
        (count, count) integers, classes by clusters.

    Raises:
        ValueError: a class or a cluster out of range or not an integer, or different shapes.
    """
    if classes.shape != clusters.shape:
        raise ValueError(f"classes {tuple(classes.shape)}, but clusters {tuple(clusters.shape)}")
    if not (is_integral(classes) and is_integral(clusters)):
        raise ValueError(f"labels must be integers, not {classes.dtype} and {clusters.dtype}")
    classes, clusters = classes.long(), clusters.long()  # bytes would be a mask
    for name, labels in (("class", classes), ("cluster", clusters)):
        # On an accelerator this check would wait for it; torch itself refuses such labels there.
        if labels.device.type == "cpu" and ((labels < 0) | (labels >= count)).any():
            raise ValueError(f"a {name} is outside 0 to {count - 1}")
    return _counted(classes, clusters, count)


def _counted(classes: Tensor, clusters: Tensor, count: int) -> Tensor:
    table = classes.new_zeros(count, count, dtype=torch.long)
    # Indices below 0 would count from the end.
    places = [labels.where(labels >= 0, count) for labels in (classes, clusters)]
    return table.index_put_(places, table.new_ones(()), accumulate=True)


def v_measure(table: Tensor) -> float:
    """V-measure, 200 h c / (h + c), from 0 to 100 (Rosenberg and Hirschberg, 2007).

    Homogeneity is h = 1 - H(class | cluster) / H(class). Completeness is
    c = 1 - H(cluster | class) / H(cluster). Each is 1 if its denominator is 0.

    Args:
        table: (classes, clusters) counts, as from :func:`contingency_table`.

    Raises:
        ValueError: the table counts nothing.
    """
    if not table.sum() > 0:
        raise ValueError("the V-measure of no instances is undefined")
    from sklearn.metrics import v_measure_score  # takes a second to import

    classes, clusters = np.indices(table.shape).reshape(2, -1)
    counts = table.flatten().long().cpu().numpy()
    return 100 * v_measure_score(np.repeat(classes, counts), np.repeat(clusters, counts))
