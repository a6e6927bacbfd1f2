"""Inference over all dependency trees, crossing arcs included: the choice of method.

Sums over trees are first computed in probability space, with every word's scores shifted by their
maximum. Where numbers leave the range of float64, the log domain is used. Samples are drawn by
random walks. Where the walks take too long, heads are drawn one word after the other.

Arguments and results are as for the functions of the same names in ``projective.inference``.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.structure.dependency.heads import arcs_that_fit
from fairseq_struct.structure.dependency.log_partition import (
    hessian_product_by_autograd,
    marginals_by_autograd,
)
from fairseq_struct.structure.dependency.nonprojective import (
    matrix_tree_kernels,
    matrix_tree_torch,
    random_walk_kernels,
    spanning_tree_kernels,
    spanning_tree_torch,
)
from fairseq_struct.structure.dependency.sampling import draw_all
from fairseq_struct.structure.kernels.compiled import Space, array, run, zeros
from fairseq_struct.structure.log_domain import one_by_one
from fairseq_struct.structure.padded_sum import padded_sum

# Longer random walks are given up. They occur if arcs that do not lead to the root have large
# weights. With typical scores a walk takes a few steps per word.
WALK_STEPS = 20_000


def log_partition_torch(scores: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Log-partition function (batch,), differentiable to any order."""
    last = _last_words(scores.detach(), lengths)[1] if single_root else None
    return matrix_tree_torch.log_partition(scores, lengths, last)


def log_partition_and_marginals(
    scores: Tensor, lengths: Tensor, single_root: bool, backend: str, want_marginals: bool = True
) -> tuple[Tensor, Tensor]:
    """Log-partition (batch,), -inf without a tree, and marginals (batch, n, n)."""
    if backend == "torch":
        return _in_log_domain(scores, lengths, single_root)
    possible, last = _last_words(scores, lengths) if single_root else (None, lengths - 1)
    weights, shift = _weights(scores, single_root)
    log_partition, marginals = scores.new_empty(len(scores)), zeros(scores.shape)
    done = torch.zeros(len(scores), dtype=torch.bool, device="cpu")
    run(
        matrix_tree_kernels.log_partition_and_marginals, _steps(lengths, 3),
        array(weights), array(lengths, np.int64), single_root, array(last, np.int64),
        want_marginals, array(log_partition), array(marginals), array(done, np.bool_),
        workspace=_spaces_of_elimination(scores.size(1)),
    )
    log_partition += shift
    if possible is not None:
        log_partition.masked_fill_(~possible, -torch.inf)
        marginals[~possible] = 0.0
        done |= ~possible
    for one, n in one_by_one((~done).nonzero()[:, 0], lengths):
        log_partition[one], marginals[one, :n, :n] = _in_log_domain(
            scores[one, :n, :n], lengths[one], single_root
        )
    return log_partition, marginals


def hessian_product(
    scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor, backend: str
) -> Tensor:
    """Hessian of the log-partition function (Jacobian of the marginals) times ``direction``."""
    if backend == "torch":
        return _hessian_in_log_domain(scores, lengths, single_root, direction)
    possible, last = _last_words(scores, lengths) if single_root else (None, lengths - 1)
    weights, _ = _weights(scores, single_root)
    # A forbidden arc has no tangent, whatever the direction.
    tangents = torch.where(weights > 0, weights * direction, 0.0)
    products = zeros(scores.shape)
    done = torch.zeros(len(scores), dtype=torch.bool, device="cpu")
    run(
        matrix_tree_kernels.hessian_products, 3 * _steps(lengths, 3),
        array(weights), array(tangents), array(lengths, np.int64), single_root,
        array(last, np.int64), array(products), array(done, np.bool_),
        workspace=2 * _spaces_of_elimination(scores.size(1)),
    )
    if possible is not None:
        products[~possible] = 0.0
        done |= ~possible
    for one, n in one_by_one((~done).nonzero()[:, 0], lengths):
        products[one, :n, :n] = _hessian_in_log_domain(
            scores[one, :n, :n], lengths[one], single_root, direction[one, :n, :n]
        )
    return products


def best_heads(
    scores: Tensor, lengths: Tensor, single_root: bool, backend: str
) -> tuple[Tensor, Tensor]:
    """Scores (batch,) of the best trees, -inf without a tree, and their heads (batch, n).

    Heads are integers and not differentiable.
    """
    if backend == "torch":
        return spanning_tree_torch.best_heads(scores, lengths, single_root)
    best = torch.empty(len(scores), dtype=torch.float64, device="cpu")
    heads = torch.zeros(scores.shape[:2], dtype=torch.int64, device="cpu")
    run(
        spanning_tree_kernels.best_trees, 4 * _steps(lengths, 2),
        array(scores), array(lengths, np.int64), single_root, array(best),
        array(heads, np.int64),
        workspace=(tuple(spanning_tree_kernels.contraction_space(scores.size(1))),),
    )
    return best, heads


def sample_heads(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    count: int,
    generator: torch.Generator | None,
    backend: str,
) -> Tensor:
    """Heads (count, batch, n) of exact samples: p(z) is proportional to exp(score(z))."""
    draw = partial(
        _word_by_word, single_root=single_root, generator=generator, backend=backend
    )
    if backend == "torch":
        return draw_all(draw, scores, lengths, count)
    heads = torch.zeros(count, *scores.shape[:2], dtype=torch.int64, device="cpu")
    done = torch.zeros(len(scores), dtype=torch.bool, device="cpu")
    seeds = torch.randint(2**62, (len(scores),), generator=generator, device="cpu")
    weights, _ = _weights(scores, single_root)
    roots = torch.zeros(scores.shape[:2], dtype=scores.dtype, device="cpu")
    if single_root:
        _, marginals = log_partition_and_marginals(scores, lengths, True, backend)
        roots = marginals.diagonal(0, 1, 2)
    run(
        random_walk_kernels.samples, count * _steps(lengths, 2),
        array(weights), array(lengths, np.int64), single_root, array(roots), WALK_STEPS,
        array(seeds, np.int64), array(heads, np.int64), array(done, np.bool_),
        workspace=(random_walk_kernels.walks_space(scores.size(1)),),
    )
    for one, n in one_by_one((~done).nonzero()[:, 0], lengths):
        for own in heads[:, one, :n]:
            if (own < 0).any():
                fit = arcs_that_fit(own, lengths[one])
                own[:] = draw(scores[one, :n, :n].masked_fill(~fit, -torch.inf), lengths[one])
    return heads


def _word_by_word(
    scores: Tensor,
    lengths: Tensor,
    single_root: bool,
    generator: torch.Generator | None,
    backend: str,
) -> Tensor:
    """Draw each word's head from its marginals, given the heads drawn so far."""
    scores = scores.clone()
    batch, n, _ = scores.shape
    words = torch.arange(n, device=scores.device)
    heads = torch.zeros(batch, n, dtype=torch.int64, device=scores.device)
    for m in range(n):
        inside = m < lengths
        _, marginals = log_partition_and_marginals(scores, lengths, single_root, backend)
        column = marginals[:, :, m].clamp_min(0)
        column[~inside, m] = 1.0
        drawn = torch.multinomial(column, 1, generator=generator).squeeze(1)
        heads[:, m] = torch.where(drawn == m, 0, drawn + 1)
        others = inside[:, None] & (words != drawn[:, None])
        scores[:, :, m] = scores[:, :, m].masked_fill(others, -torch.inf)
    return heads


def _weights(scores: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """exp of shifted scores, and (batch,) the sum of the shifts.

    A single root has exactly one outgoing arc, so the root's arcs get one more common shift.
    """
    own = torch.eye(scores.size(1), dtype=torch.bool, device=scores.device)
    shift = (scores.masked_fill(own, -torch.inf) if single_root else scores).amax(1)
    shift = shift.masked_fill(shift.isinf(), 0.0)
    weights = scores - shift[:, None]
    total = padded_sum(shift)
    if single_root:
        root = weights.diagonal(0, 1, 2)
        root_shift = root.amax(1)
        root_shift = root_shift.masked_fill(root_shift.isinf(), 0.0)
        root -= root_shift[:, None]
        total = total + root_shift
    # By numpy: its exp of a number does not depend on the position in the array.
    np.exp(weights.numpy(), out=weights.numpy())
    return weights, total


def _last_words(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Whether a tree with a single root exists, and the root's modifier in the best one."""
    backend = "compiled" if scores.device.type == "cpu" else "torch"
    best, heads = best_heads(scores, lengths, True, backend)
    words = torch.arange(heads.size(1), device=heads.device) < lengths[:, None]
    return best > -torch.inf, ((heads == 0) & words).int().argmax(1)


def _spaces_of_elimination(n: int) -> tuple[Space, ...]:
    return Space((2, n, n)), Space((4, n))


def _steps(lengths: Tensor, power: int) -> np.ndarray:
    return lengths.cpu().numpy().astype(np.float64) ** power


def _in_log_domain(scores: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    value, marginals = marginals_by_autograd(
        lambda given: log_partition_torch(given, lengths, single_root), scores
    )
    # Digits are lost if all trees need arcs far below the others. Rounding may leave negative
    # numbers near 0.
    marginals = marginals.clamp_min(0.0)
    total = marginals.sum(1, keepdim=True)
    return value, torch.where(total > 0, marginals / total, marginals)


def _hessian_in_log_domain(
    scores: Tensor, lengths: Tensor, single_root: bool, direction: Tensor
) -> Tensor:
    return hessian_product_by_autograd(
        lambda given: log_partition_torch(given, lengths, single_root), scores, direction
    )
