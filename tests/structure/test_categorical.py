"""One choice among k, against plain softmax arithmetic, and its gradients."""

import pytest
import torch
from scipy.stats import chisquare

from fairseq_struct.structure.categorical import Categorical

SCORES = 2 * torch.randn(4, 6, generator=torch.Generator().manual_seed(1)).double()


def test_verbs_are_those_of_softmax():
    choice = Categorical(SCORES)
    probabilities = SCORES.softmax(1)
    assert torch.equal(choice.marginals, probabilities)
    assert torch.equal(choice.argmax.argmax(1), SCORES.argmax(1))
    assert torch.equal(choice.argmax.sum(1), torch.ones(4).double())
    assert torch.equal(choice.labels, SCORES.argmax(1))
    assert torch.equal(choice.max, SCORES.amax(1))
    torch.testing.assert_close(choice.log_partition, SCORES.logsumexp(1))
    torch.testing.assert_close(choice.entropy, -(probabilities * probabilities.log()).sum(1))
    torch.testing.assert_close(choice.log_prob(choice.enumerate()).T, probabilities.log())
    other = Categorical(SCORES.flip(1))
    expected = (probabilities * (probabilities / SCORES.flip(1).softmax(1)).log()).sum(1)
    torch.testing.assert_close(choice.kl(other), expected)


def check_optimal(values, slopes):
    """Conditions of an optimum on the simplex: slopes are equal where values are positive."""
    torch.testing.assert_close(values.sum(1), torch.ones(len(values)).double())
    assert (values >= 0).all()
    inside = values > 0
    threshold = (slopes * inside).sum(1, keepdim=True) / inside.sum(1, keepdim=True)
    assert (slopes - threshold)[inside].abs().max() < 1e-10
    assert (slopes <= threshold + 1e-10).all()


def test_sparse_maps_are_optimal_however_many_choices():
    """p maximises s.p - ||p||^2 / 2, and s.p - 4/3 (sum p^1.5 - 1)."""
    many = torch.randn(3, 2000, generator=torch.Generator().manual_seed(2)).double() * 1e-3
    for scores in (SCORES, many):
        choice = Categorical(scores)
        check_optimal(choice.sparsemap, scores - choice.sparsemap)
        check_optimal(choice.entmax15, scores - 2 * choice.entmax15.sqrt())
    assert (Categorical(SCORES).sparsemap == 0).any()
    assert (Categorical(2 * SCORES).entmax15 == 0).any()


def test_forbidden_choices():
    scores = SCORES.clone()
    scores[:, 2] = -torch.inf
    choice = Categorical(scores.requires_grad_())
    without = Categorical(scores.detach()[:, [0, 1, 3, 4, 5]])
    for verb in ("marginals", "sparsemap", "entmax15", "argmax"):
        value = getattr(choice, verb)
        assert (value[:, 2] == 0).all()
        torch.testing.assert_close(value[:, [0, 1, 3, 4, 5]], getattr(without, verb))
    torch.testing.assert_close(choice.entropy, without.entropy)
    (gradient,) = torch.autograd.grad(choice.entropy.sum(), scores)
    assert gradient.isfinite().all()
    assert choice.kl(choice).abs().max() < 1e-12
    assert (Categorical(SCORES).kl(choice) == torch.inf).all()
    assert (choice.sample(50)[..., 2] == 0).all()


def test_scores_whose_sum_is_out_of_range():
    scores = torch.full((2, 3), 3e38)
    assert torch.equal(Categorical(scores).marginals, torch.full((2, 3), 1 / 3))


def test_divergence_where_there_is_no_probability():
    """What p makes 0 adds nothing, also where q forbids it, and the gradient is right."""
    second = torch.tensor([False, True, False, False, False, False])

    def kl(given, others):
        return Categorical(given).kl(Categorical(others.masked_fill(second, -torch.inf)))

    scores, others = SCORES.clone(), SCORES.flip(1).clone().requires_grad_()
    assert (kl(scores, others) == torch.inf).all()
    unlikely = (scores - 3000.0 * second).requires_grad_()
    without = kl(scores.masked_fill(second, -torch.inf), others)
    torch.testing.assert_close(kl(unlikely, others), without)
    assert torch.autograd.gradcheck(kl, (unlikely, others))
    assert torch.equal(kl(unlikely.float(), others.float()).isfinite(), torch.ones(4).bool())


def test_gradients():
    scores = SCORES.clone().requires_grad_()
    for verb in ("log_partition", "marginals", "entropy"):
        assert torch.autograd.gradcheck(lambda s, verb=verb: getattr(Categorical(s), verb), scores)
        assert torch.autograd.gradgradcheck(
            lambda s, verb=verb: getattr(Categorical(s), verb), scores
        )
    many = torch.randn(1, 300, generator=torch.Generator().manual_seed(1)).double()
    for given in (scores, many.requires_grad_()):
        assert torch.autograd.gradcheck(lambda s: Categorical(s).sparsemap, given)
        assert torch.autograd.gradgradcheck(lambda s: Categorical(s).sparsemap, given)


def test_samples_and_perturbed_maxima_have_the_probabilities():
    scores = torch.tensor([[0.5, -1.0, 1.0]]).expand(6000, 3)
    generator = torch.Generator().manual_seed(1)
    expected = 6000 * scores[0].softmax(0)
    for drawn in (
        Categorical(scores).perturb_and_map(generator),
        Categorical(scores[:1]).sample(6000, generator)[:, 0],
    ):
        assert set(drawn.unique().tolist()) == {0.0, 1.0}
        assert chisquare(drawn.sum(0), expected).pvalue > 1e-3


def test_observed_choices():
    choice = Categorical(SCORES).observe(torch.tensor([-1, 3, 0, -1]))
    torch.testing.assert_close(choice.log_partition[0], SCORES[0].logsumexp(0))
    torch.testing.assert_close(choice.log_partition[1:3], SCORES[[1, 2], [3, 0]])


@pytest.mark.parametrize("kind", [torch.int8, torch.int16, torch.int32, torch.uint8])
def test_labels_of_small_integers(kind):
    choice, labels = Categorical(torch.randn(3, 300)), torch.tensor([7, 0, 1])
    given = labels.to(kind)
    assert torch.equal(choice.one_hot(given), choice.one_hot(labels))
    assert torch.equal(choice.log_prob(given), choice.log_prob(labels))
    assert torch.equal(choice.observe(given).labels, labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Categorical(torch.zeros(3)), r"shape \(batch, k\)"),
        (lambda: Categorical(torch.zeros(2, 0)), "k >= 1"),
        (lambda: Categorical(torch.zeros(2, 2).long()), "floating point"),
        (lambda: Categorical(torch.tensor([[0.0, torch.nan]])), "choice 1 in instance 0 is nan"),
        (lambda: Categorical(torch.full((1, 2), -torch.inf)), "all choices of instance 0"),
        (lambda: Categorical(torch.tensor([[0.0, -torch.inf], [0.0, torch.nan]])),
         "choice 1 in instance 1 is nan"),
        (lambda: Categorical(torch.tensor([[-torch.inf, torch.inf]])),
         "choice 1 in instance 0 is inf"),
        (lambda: Categorical(SCORES).log_prob(torch.tensor([0, 1, 2, 6])), "6 is not one of the 6"),
        (lambda: Categorical(SCORES).observe(torch.tensor([0])), r"of shape \(..., 4\)"),
        (lambda: Categorical(SCORES).observe(torch.tensor(0)), "1 dimension, not 0"),
        (lambda: Categorical(SCORES).observe(torch.tensor([True] * 4)), "must be integers"),
        (lambda: Categorical(SCORES).log_prob(torch.zeros(4)), "must be integers"),
        (lambda: Categorical(SCORES).log_prob(torch.zeros(4, 2).long()), "must be integers"),
        (lambda: Categorical(SCORES).kl(Categorical(SCORES[:2])), "same choices"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_it_projects_as_other_structures_do():
    """SparseMAP of a target near the marginals, without impossible choices."""
    choices = Categorical(torch.tensor([[0.3, 0.1, -torch.inf], [0.0, 2.0, 1.0]]).double())
    possible = choices.scores > -torch.inf
    # The shares of the first are 0.55 and 0.45; the third of the second leaves none to the first.
    target = choices.marginals + torch.tensor([[0.2, 0.0, 5.0], [-0.3, -0.1, 0.4]])
    found = choices.project(target, possible)
    torch.testing.assert_close(
        found[0, :2], target[0, :2] - (target[0, :2].sum() - 1) / 2, atol=1e-12, rtol=0
    )
    torch.testing.assert_close(
        found[1, 1:], target[1, 1:] - (target[1, 1:].sum() - 1) / 2, atol=1e-12, rtol=0
    )
    assert found[0, 2] == found[1, 0] == 0


@pytest.mark.parametrize("choices", [3, 300])
def test_entmax_can_be_differentiated_twice(choices):
    """Most of the choices have no probability, where the root of it has no derivative."""
    generator = torch.Generator().manual_seed(2)
    scores = 3 * torch.randn(2, choices, generator=generator, dtype=torch.float64)
    scores[0, 0] = -torch.inf
    scores.requires_grad_()

    def probabilities(scores):
        return Categorical(scores).entmax15

    assert (probabilities(scores) == 0).any()
    (slope,) = torch.autograd.grad(probabilities(scores).square().sum(), scores, create_graph=True)
    (first,) = torch.autograd.grad(probabilities(scores).square().sum(), scores)
    torch.testing.assert_close(slope, first)
    (second,) = torch.autograd.grad(slope.square().sum(), scores)
    assert second.isfinite().all()
    shift = 1e-5 * torch.randn(2, choices, generator=generator, dtype=torch.float64)

    def penalty(scores):
        scores = scores.detach().requires_grad_()
        return torch.autograd.grad(probabilities(scores).square().sum(), scores)[0].square().sum()

    difference = (penalty(scores + shift) - penalty(scores - shift)) / 2
    torch.testing.assert_close((second * shift).sum(), difference, atol=1e-14, rtol=1e-6)


def test_entmax_twice_of_scores_that_are_all_large():
    def slope(scores):
        scores = scores.clone().requires_grad_()
        given = Categorical(scores).entmax15.square().sum()
        return torch.autograd.grad(given, scores, create_graph=True)[0]

    scores = torch.arange(6.0).view(1, 6) / 4
    assert torch.equal(slope(scores + 4096), slope(scores)) and slope(scores).any()


def test_kl_to_something_else():
    with pytest.raises(TypeError, match="^kl needs Categorical, not Tensor"):
        Categorical(torch.zeros(2, 3)).kl(torch.zeros(2, 3))
