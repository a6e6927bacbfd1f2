"""Surrogate gradients against their explicit equations, for choices and for trees."""

import pytest
import torch
from latent_structures import Decoder, trees
from tree_kinds import random_scores

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.pullback import (
    ALIASES,
    METHODS,
    PULLED_BACK,
    RELAXED,
    MovingAverage,
    latent,
    needs_loss,
    pulled_back_gradient,
    reading,
)

STRUCTURES = [
    pytest.param(Categorical, random_scores(3, 5), id="categorical"),
    pytest.param(trees, random_scores(3, 4, 4), id="trees"),
]


def written_out(method, structure, scores, decoder, eta, steps):
    """Algorithm 1, line by line."""
    within = structure(scores).within
    if method in ("ste_identity", "spigot"):
        start = structure(scores).argmax
    else:
        start = structure(scores).marginals
    mu, s = start, scores
    for _ in range(steps):
        step = eta * decoder.gamma(mu) * within
        if method == "ste_identity":
            mu = mu - step
        elif method == "spigot_eg":
            s = s - step
            mu = structure(s).marginals
        else:
            mu = structure(mu - step).sparsemap
    return start - mu


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
@pytest.mark.parametrize("method", PULLED_BACK)
@pytest.mark.parametrize("steps", [1, 3])
def test_surrogates_are_those_of_algorithm_1_with_its_decoder_calls(
    structure, scores, method, steps
):
    decoder = Decoder(scores)
    expected = written_out(method, structure, scores, decoder, 0.4, steps)
    assert expected.abs().max() > 1e-3
    given = scores.clone().requires_grad_()
    decoder.calls.clear()
    result = latent(given, structure, method, decoder, step_size=0.4, steps=steps)
    assert torch.equal(result.value, structure(scores).argmax)
    assert len(decoder.calls) == 1
    result.losses.sum().backward()
    torch.testing.assert_close(given.grad, expected)
    # The forward call, and what algorithm 1 adds in the backward pass.
    assert len(decoder.calls) == (steps if method in ("ste_identity", "spigot") else steps + 1)
    # The decoder's own gradient is that of its loss at the argmax, and nothing else.
    (own,) = torch.autograd.grad(decoder(result.value.detach()).sum(), decoder.weights)
    torch.testing.assert_close(decoder.weights.grad, own)


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
@pytest.mark.parametrize("method", METHODS)
def test_the_weight_of_a_loss_does_not_change_the_steps(structure, scores, method):
    """Means, loss scales and padding weights scale the gradient; they must not bend it."""
    weights = torch.tensor([0.25, 0.0, 512.0]).double()
    gradients = []
    for weight in (torch.ones(3).double(), weights):
        given = scores.clone().requires_grad_()
        generator = torch.Generator().manual_seed(1)
        result = latent(given, structure, method, Decoder(scores), 0.4, generator=generator)
        (weight * result.losses).sum().backward()
        gradients.append(given.grad)
    shape = (3, *[1] * (scores.dim() - 1))
    torch.testing.assert_close(gradients[1], weights.view(shape) * gradients[0])
    assert gradients[0].abs().max() > 1e-4


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
@pytest.mark.parametrize("method", PULLED_BACK)
def test_labels_stay_away_from_what_is_forbidden(structure, scores, method):
    scores = scores.clone()
    scores[2].view(-1)[1] = -torch.inf

    def loss(value):  # prefers the forbidden part
        return -100 * value.flatten(1)[:, 1]

    got = pulled_back_gradient(scores, structure, method, loss, 1.0, 2)
    assert got.isfinite().all()
    assert got[2].view(-1)[1] == 0
    assert got[0].abs().max() > 0.1  # where it is allowed


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
def test_one_step_of_ste_and_spigot_without_a_decoder(structure, scores):
    decoder = Decoder(scores)
    for method in ("ste_identity", "spigot"):
        given = scores.clone().requires_grad_()
        result = latent(given, structure, method, step_size=0.4)
        assert result.losses is None
        decoder(result.value).sum().backward()
        torch.testing.assert_close(
            given.grad, written_out(method, structure, scores, decoder, 0.4, 1)
        )


def test_relaxed_and_straight_through_gradients():
    scores = random_scores(3, 4, 4)
    weights = random_scores(3, 4, 4, seed=7)

    def gradient_of(value, given):
        return torch.autograd.grad((weights * value).sum(), given)[0]

    given = scores.clone().requires_grad_()
    through_marginals = gradient_of(trees(given).marginals, given)
    through_sparsemap = gradient_of(trees(given).sparsemap, given)
    for method, value, expected in (
        ("marginals", trees(scores).marginals, through_marginals),
        ("sparsemap", trees(scores).sparsemap, through_sparsemap),
        ("ste_marginals", trees(scores).argmax, through_marginals),
    ):
        result = latent(given, trees, method).value
        assert torch.equal(result.detach(), value)
        torch.testing.assert_close(gradient_of(result, given), expected)


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
def test_gumbel_methods_share_noise_and_gradient(structure, scores):
    given = scores.clone().requires_grad_()
    results = {}
    for method in ("gumbel_softmax", "perturb_and_map"):
        generator = torch.Generator().manual_seed(3)
        value = latent(given, structure, method, temperature=0.7, generator=generator).value
        weights = random_scores(*scores.shape, seed=7)
        results[method] = value, torch.autograd.grad((weights * value).sum(), given)[0]
    soft, hard = results["gumbel_softmax"][0], results["perturb_and_map"][0]
    torch.testing.assert_close(results["gumbel_softmax"][1], results["perturb_and_map"][1])
    noisy = structure(scores).perturbed(torch.Generator().manual_seed(3))
    assert torch.equal(hard, noisy.argmax.to(hard))
    assert not torch.equal(hard, soft)


@pytest.mark.parametrize("baseline", [None, MovingAverage(0.9)])
@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
def test_score_function_is_unbiased(structure, scores, baseline):
    """The mean of many estimates is the gradient of the expected loss, by enumeration."""
    decoder = Decoder(scores)
    given = scores.clone().requires_grad_()
    b, n = 2, 3
    if structure is Categorical:
        values = torch.eye(5).double()
        probabilities = given[b].softmax(0)
    else:
        heads = DependencyTrees(scores[b : b + 1, :n, :n]).enumerate()[0]
        everywhere = torch.zeros(len(heads), 3, 4, dtype=torch.int64)
        everywhere[:, b, :n] = heads
        values = trees(scores).arcs(everywhere)[:, b]
        probabilities = trees(given).log_prob(everywhere)[:, b].exp()
    losses = torch.stack([
        decoder(value.expand(3, *value.shape))[b] for value in values
    ]).detach()
    (expected,) = torch.autograd.grad((probabilities * losses).sum(), given)
    generator, count = torch.Generator().manual_seed(1), 3000
    total = torch.zeros_like(scores)
    for _ in range(count // 100):
        # A hundred copies at once; only instance b's matter.
        many = scores[b : b + 1].expand(100, *scores.shape[1:]).clone().requires_grad_()

        def same(s):
            if structure is Categorical:
                return Categorical(s)
            return DependencyTrees(s, torch.full((100,), n))

        def loss(value):
            inner = (decoder.weights[b] * value).flatten(1).sum(1)
            return inner + 0.3 * inner.square()

        result = latent(many, same, "sfe", loss, generator=generator, baseline=baseline)
        torch.testing.assert_close(result.losses, loss(result.value))
        result.losses.sum().backward()
        total[b] += many.grad.sum(0)
    error = (total[b] / count - expected[b]).abs().max()
    assert error < 0.15, error


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
@pytest.mark.parametrize("method", [*METHODS, *ALIASES])
def test_evaluation_reads_means_of_relaxed_methods_and_else_the_best(structure, scores, method):
    read, name = reading(scores, structure, method, temperature=0.5), ALIASES.get(method, method)
    if name == "gumbel_softmax":
        assert torch.equal(read, structure(scores / 0.5).marginals)
    else:
        expected = getattr(structure(scores), name if name in RELAXED else "argmax")
        assert torch.equal(read, expected)


@pytest.mark.parametrize("method", [*METHODS, *ALIASES])
@pytest.mark.parametrize("steps", [1, 2])
def test_the_loss_is_needed_where_the_decoder_is_called(method, steps):
    scores = random_scores(3, 5)
    if needs_loss(method, steps):
        with pytest.raises(ValueError, match="needs decoder_loss here"):
            latent(scores, Categorical, method, steps=steps)
    else:
        assert latent(scores, Categorical, method, steps=steps).losses is None
    # Steps along a scaled loss would have another length; a straight-through gradient would not.
    expected = needs_loss(method, steps) or method == "spigot"
    assert needs_loss(method, steps, scaled=True) == expected


def test_moving_average_comes_before_the_losses_it_is_compared_with():
    baseline = MovingAverage(0.5)
    assert baseline(torch.tensor([2.0, 4.0])) == 3.0  # no losses before: their own mean
    assert baseline(torch.tensor([5.0])) == 3.0
    assert baseline(torch.tensor([0.0])) == 4.0
    assert baseline(torch.tensor([torch.inf, 1.0])) == 2.0 == baseline.average


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
def test_what_is_known_joins_the_losses(structure, scores):
    if structure is Categorical:
        known = torch.tensor([2, -1, 0])
    else:
        known = torch.tensor([[-1, 1, -1, -1], [-1] * 4, [2, 3, 0, -1]])
    given = scores.clone().requires_grad_()
    plain = latent(given, structure, "marginals", Decoder(scores)).losses
    both = latent(
        given, structure, "marginals", Decoder(scores), known=known, supervision_weight=2.0
    ).losses
    expected = structure(scores).log_partition - structure(scores).observe(known).log_partition
    torch.testing.assert_close(both, plain + 2.0 * expected)
    assert both[1] == plain[1]  # no known part there
    # Following the gradient makes the known part likely.
    moved = scores.clone()
    for _ in range(200):
        moved.requires_grad_()
        loss = latent(moved, structure, "ste_identity", Decoder(scores), known=known,
                      supervision_weight=20.0).losses
        (gradient,) = torch.autograd.grad(loss.sum(), moved)
        moved = (moved - 0.1 * gradient).detach()
    surprise = structure(moved).log_partition - structure(moved).observe(known).log_partition
    assert surprise.max() < 0.5


def test_aliases_are_the_same_methods():
    scores = random_scores(3, 5)
    for alias, method in ALIASES.items():
        gradients = []
        for name in (alias, method):
            given = scores.clone().requires_grad_()
            generator = torch.Generator().manual_seed(1)
            result = latent(given, Categorical, name, Decoder(scores), generator=generator)
            result.losses.sum().backward()
            gradients.append(given.grad)
        assert torch.equal(*gradients)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "spigott"}, "unknown method 'spigott'; choose one of marginals"),
        ({"method": "spigot_ce"}, "spigot_ce needs decoder_loss"),
        ({"method": "spigot", "steps": 2}, "spigot needs decoder_loss"),
        ({"method": "sfe"}, "score_function needs decoder_loss"),
        ({"method": "spigot", "steps": 0}, "steps must be 1 or more"),
        ({"method": "spigot", "step_size": 0.0}, "step_size must be above 0"),
        ({"method": "spigot", "steps": 1.5}, r"steps must be an integer, not 1\.5"),
        ({"method": "st_gumbel", "temperature": float("nan")}, "temperature must be above 0"),
        ({"method": "spigot", "baseline": MovingAverage()}, "baseline is for score_function"),
        ({"method": "softmax", "known": torch.zeros(3)}, "known needs decoder_loss"),
    ],
)
def test_impossible_requests_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        latent(random_scores(3, 5), Categorical, **options)
    with pytest.raises(ValueError, match="one loss per instance"):
        latent(random_scores(3, 5), Categorical, "softmax", lambda value: value.sum())


def test_pulled_back_gradient_stands_alone():
    scores = random_scores(3, 5)
    with pytest.raises(ValueError, match="must be one of ste_identity, .* not 'softmax'"):
        pulled_back_gradient(scores, Categorical, "softmax", None)
    with pytest.raises(ValueError, match="spigot needs decoder_loss"):
        pulled_back_gradient(scores, Categorical, "spigot", None)
    given = Categorical, scores, Decoder(scores), 0.4, 2
    for method in PULLED_BACK:
        got = pulled_back_gradient(scores, Categorical, method, *given[2:])
        torch.testing.assert_close(got, written_out(method, *given))
        if method != "ste_identity":  # the difference of two points of the simplex
            torch.testing.assert_close(got.sum(1), torch.zeros(3).double())
