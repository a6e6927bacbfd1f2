"""Pulled-back gradients under padding, half precision and decoders that overflow."""

import pytest
import torch
from latent_structures import Decoder, trees
from tree_kinds import random_scores

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.pullback import (
    METHODS,
    PULLED_BACK,
    latent,
    pulled_back_gradient,
    reading,
)


def test_padding_gets_no_gradient_and_batches_do_not_mix():
    scores = random_scores(3, 4, 4)
    outside = ~trees(scores).within
    for method in METHODS:
        if method in ("gumbel_softmax", "perturb_and_map", "score_function"):
            continue
        given = scores.clone().requires_grad_()
        latent(given, trees, method, Decoder(scores), 0.4).losses.mean().backward()
        assert (given.grad[outside] == 0).all()
        decoder = Decoder(scores)
        alone = scores[2:, :3, :3].clone().requires_grad_()

        def own_loss(value, decoder=decoder):
            inner = (decoder.weights[2:, :3, :3] * value).flatten(1).sum(1)
            return inner + 0.3 * inner.square()

        latent(alone, DependencyTrees, method, own_loss, 0.4).losses.sum().backward()
        torch.testing.assert_close(3 * given.grad[2, :3, :3], alone.grad[0])


@pytest.mark.parametrize("method", METHODS)
def test_autocast_holds_in_the_backward_pass(method):
    torch.manual_seed(1)
    scores = random_scores(3, 4, 4, dtype=torch.float32).requires_grad_()
    layer, seen = torch.nn.Linear(16, 1), []

    def loss(value):
        output = layer(value.flatten(1)).squeeze(1)
        seen.append(output.dtype)
        return output.float()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = latent(scores, trees, method, loss, 0.4)
    result.losses.mean().backward()
    assert set(seen) == {torch.bfloat16}
    assert scores.grad.isfinite().all() and scores.grad.abs().sum() > 0


@pytest.mark.parametrize("method", PULLED_BACK)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_steps_survive_half_precision(method, dtype):
    """The gradient of a small step is as good as half precision can write it down."""
    scores = random_scores(3, 5).to(dtype)
    slope = random_scores(3, 5, seed=1)

    def loss(value):
        return (value * slope.to(value.dtype)).sum(1)

    got = pulled_back_gradient(scores, Categorical, method, loss, 1e-3)
    exact = pulled_back_gradient(scores.double(), Categorical, method, loss, 1e-3)
    torch.testing.assert_close(got.double(), exact, rtol=0.02, atol=2e-6)
    given = scores.clone().requires_grad_()
    latent(given, Categorical, method, loss, 1e-3).losses.sum().backward()
    assert given.grad.dtype == dtype
    torch.testing.assert_close(given.grad.double(), exact, rtol=0.02, atol=2e-6)


@pytest.mark.parametrize("method", PULLED_BACK)
def test_a_value_without_its_losses_has_a_gradient(method):
    scores = random_scores(3, 5).requires_grad_()
    result = latent(scores, Categorical, method, lambda value: value[:, 0], 0.1)
    result.value[:, 0].sum().backward()
    alone = scores.grad.clone()
    scores.grad = None
    latent(scores, Categorical, method, lambda value: value[:, 0], 0.1).losses.sum().backward()
    torch.testing.assert_close(alone, scores.grad)


@pytest.mark.parametrize("method", PULLED_BACK)
def test_overflow_in_the_decoder_stays_with_its_instance(method):
    scores, factor = random_scores(3, 5), torch.tensor([1.0, torch.inf, 1.0])
    got = pulled_back_gradient(scores, Categorical, method, lambda v: v[:, 1] * factor, 0.1)
    assert got[1].isnan().all() and got[[0, 2]].isfinite().all()


def test_a_decoder_that_does_not_read_the_structure_pulls_nowhere():
    scores, parameter = random_scores(3, 5), torch.ones(3, requires_grad=True)
    for loss in (lambda value: torch.ones(3), lambda value: 2 * parameter):
        assert not pulled_back_gradient(scores, Categorical, "spigot_eg", loss).any()
    with pytest.raises(TypeError, match="must return a tensor, not float"):
        latent(scores, Categorical, "softmax", lambda value: 1.0)


def test_a_decoder_may_work_in_place():
    scores = random_scores(2, 3, 3).requires_grad_()
    for method in PULLED_BACK:
        latent(scores, DependencyTrees, method, lambda z: z.mul_(2.0).square().sum((1, 2)))
        latent(
            scores, DependencyTrees, method, lambda z: (z.clone().mul_(2.0) ** 2).sum((1, 2))
        ).losses.sum().backward()
        pulled_back_gradient(
            scores, DependencyTrees, method, lambda z: (z.mul_(2.0) ** 2).sum((1, 2))
        )


@pytest.mark.parametrize("method", PULLED_BACK)
def test_steps_beyond_all_numbers_lose_their_instance_only(method):
    factor = torch.tensor([1.0, 1e38, 1.0])
    scores = random_scores(3, 4, 4, dtype=torch.float32).requires_grad_()
    result = latent(
        scores, DependencyTrees, method, lambda z: (z.sum((1, 2)) * factor), step_size=100.0
    )
    (gradient,) = torch.autograd.grad(result.losses.sum(), scores)
    assert gradient[[0, 2]].isfinite().all() and not gradient[1].isfinite().all()


def test_a_reading_by_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="unknown method 'foo'; choose one of marginals"):
        reading(torch.zeros(1, 2), Categorical, "foo")


@pytest.mark.parametrize("deviation", [10.0, 20.0])
def test_a_point_far_from_the_marginals_is_still_projected(deviation):
    """Where probabilities are near 0 or 1, rounding hides the curvature of the entropy."""
    scores = random_scores(300, 3, 3, scale=deviation)
    gamma = random_scores(300, 3, 3, seed=1)

    def loss(value):
        return (gamma * value).flatten(1).sum(1)

    found = pulled_back_gradient(scores, DependencyTrees, "spigot_ce", loss)
    distribution = DependencyTrees(scores)
    mu = distribution.marginals - found
    assert found.isfinite().all()
    torch.testing.assert_close(mu.sum(1), torch.ones(300, 3, dtype=torch.float64))
