"""A sentence's trees depend neither on padding nor on its batch: bit for bit, where compiled."""

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.padded_sum import padded_sum

LENGTHS = torch.tensor([7, 1, 12, 3, 9, 2, 11])
N = 13  # longer than any of them
VERBS = ("heads", "argmax", "max", "log_partition", "marginals", "entropy", "sparsemap")


def fuzzed(scale, masked, dtype):
    """Scores of sentences, with arbitrary values beyond their ends."""
    scores = random_scores(len(LENGTHS), N, N, scale=scale, dtype=dtype)
    if masked:
        forbidden = random_scores(len(LENGTHS), N, N, seed=1) > 0.8
        forbidden.diagonal(0, 1, 2).fill_(False)
        scores = scores.masked_fill(forbidden, -torch.inf if masked == "forbidden" else -1e9)
    behind = torch.arange(N) >= LENGTHS[:, None]
    behind = behind[:, :, None] | behind[:, None, :]
    return torch.where(behind, 1e6 * random_scores(*scores.shape, seed=2).to(dtype), scores)


def everything(scores, lengths, kind):
    """Values of all verbs, a row for each sentence, and gradients."""
    leaf = scores.clone().requires_grad_()
    trees = DependencyTrees(leaf, lengths, **kind)
    other = DependencyTrees(leaf.detach() * 0.5, lengths, **kind)
    found = {verb: getattr(trees, verb) for verb in VERBS}
    found |= {"score": trees.score(other.heads), "log_prob": trees.log_prob(other.heads)}
    found["kl"] = trees.kl(other)
    for verb in ("log_partition", "marginals", "entropy", "kl", "sparsemap"):
        value = found[verb]
        if value.dim() == 3:
            value = value * value.detach().sqrt()
        found[f"gradient of {verb}"] = torch.autograd.grad(
            value.sum(), leaf, retain_graph=True
        )[0]
    return {name: value.detach() for name, value in found.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("scale", "masked"),
    [
        (1e-3, False), (1.0, False), (1.0, "forbidden"), (1.0, "low"), (20.0, False),
        (400.0, False), (400.0, "low"),
    ],
)  # fmt: skip
def test_a_sentence_in_a_padded_batch_is_that_sentence_alone(kind, dtype, scale, masked):
    scores = fuzzed(scale, masked, dtype)
    together = everything(scores, LENGTHS, kind)
    assert (together["marginals"] >= 0).all() and (together["sparsemap"] >= 0).all()
    for b, n in enumerate(LENGTHS.tolist()):
        alone = everything(scores[b : b + 1, :n, :n], None, kind)
        for name, value in alone.items():
            whole = together[name][b]
            part = (slice(n),) * whole.dim()
            assert torch.equal(value[0], whole[part]), (name, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_so_are_samples_from_the_same_seed(kind, scale):
    """With large scores of crossing arcs random walks circle, so words are drawn singly."""
    scores = fuzzed(scale, False, torch.float64)
    for b, n in enumerate(LENGTHS.tolist()):
        one, generator = scores[b : b + 1], torch.Generator()
        padded = DependencyTrees(one, LENGTHS[b : b + 1], **kind)
        alone = DependencyTrees(one[:, :n, :n], **kind)
        drawn = [trees.sample_heads(3, generator.manual_seed(b)) for trees in (padded, alone)]
        assert torch.equal(drawn[0][..., :n], drawn[1])
        assert (drawn[0][..., n:] == 0).all()


@pytest.mark.parametrize("low", [-1e6, -1e13])
def test_scores_of_others_do_not_decide_how_a_best_tree_is_looked_for(low):
    """Two trees tie in float32; the batch also has a sentence that is searched in float64."""
    tie = torch.tensor([[0.0, 1.0], [1.0, 1e-9]])
    needed = torch.tensor([[0.0, low], [low, 0.0]])
    kind = {"projective": True, "single_root": True}
    for scores in (tie, tie.flip(0, 1)):
        alone = DependencyTrees(scores[None], **kind).heads[0]
        assert torch.equal(DependencyTrees(torch.stack([scores, needed]), **kind).heads[0], alone)


def test_zeros_behind_numbers_do_not_change_their_sum():
    numbers = random_scores(50, 37, scale=1e3)
    numbers = numbers * random_scores(50, 37, seed=1).exp()
    for more in (1, 2, 27, 300):
        padded = torch.nn.functional.pad(numbers, (0, more))
        assert torch.equal(padded_sum(padded), padded_sum(numbers))
        square = torch.nn.functional.pad(numbers, (0, more, 0, more + 1))
        assert torch.equal(padded_sum(square, 2), padded_sum(numbers, 2))
    torch.testing.assert_close(padded_sum(numbers), numbers.sum(-1))
    torch.testing.assert_close(padded_sum(numbers, 2), numbers.sum())
    for dimensions in (1, 2):
        given = random_scores(2, 5, 3).requires_grad_()
        assert torch.autograd.gradcheck(lambda x, d=dimensions: padded_sum(x, d), given)
        assert torch.autograd.gradgradcheck(lambda x, d=dimensions: padded_sum(x, d), given)
