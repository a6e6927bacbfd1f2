"""StructFormer's dependencies against its equations, and its encoder."""

import math

import pytest
import torch

from fairseq_struct.modules.masked_lm.structformer import (
    DependencyAttention,
    DistanceParser,
    StructFormerEncoder,
    dependency_distribution,
)

LENGTHS = torch.tensor([6, 4, 1])


def values():
    generator = torch.Generator().manual_seed(1)
    return (2 * torch.randn(3, 6, generator=generator, dtype=torch.float64) for _ in range(2))


def by_the_equations(distances, heights, n):
    """The probabilities from the equations, span by span."""
    result = [[0.0] * n for _ in range(n)]
    for i in range(n):
        alpha = [1 / (1 + math.exp(distances[g] - heights[i])) for g in range(n - 1)]
        for left in range(i + 1):
            start = math.prod(alpha[left:i]) * (1 - alpha[left - 1] if left else 1)
            for right in range(i, n):
                stop = math.prod(alpha[i:right]) * (1 - alpha[right] if right < n - 1 else 1)
                total = sum(math.exp(heights[k]) for k in range(left, right + 1))
                for j in range(left, right + 1):
                    if j != i:
                        result[i][j] += start * stop * math.exp(heights[j]) / total
    return torch.tensor(result, dtype=torch.float64)


def test_dependencies_are_those_of_the_equations():
    distances, heights = values()
    found = dependency_distribution(distances, heights, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        expected = by_the_equations(distances[b].tolist(), heights[b].tolist(), n)
        torch.testing.assert_close(found[b, :n, :n], expected)
        assert found[b, n:].abs().sum() == 0 and found[b, :, n:].abs().sum() == 0
    assert (found.sum(-1) <= 1 + 1e-9).all()


def test_their_gradients():
    distances, heights = (one.requires_grad_() for one in values())
    assert torch.autograd.gradcheck(
        lambda *given: dependency_distribution(*given, LENGTHS), (distances, heights)
    )


@pytest.mark.parametrize("depth", [500.0, 1000.0])
def test_words_far_below_the_highest_have_heads(depth):
    """Below the limit of heights, a span's words have equal shares; none is lost."""
    heights = torch.tensor([[-depth, -depth, -depth, 0.0]], dtype=torch.float64)
    distances = torch.tensor([[-2 * depth, -2 * depth, 0.0, 0.0]], dtype=torch.float64)
    found = dependency_distribution(distances, heights, torch.tensor([4]))
    expected = (torch.ones(3, 3) - torch.eye(3)).double() / 3
    torch.testing.assert_close(found[0, :3, :3], expected)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_single_precision_stays_finite(scale):
    distances, heights = ((scale * one).float().requires_grad_() for one in values())
    found = dependency_distribution(distances, heights, LENGTHS)
    found.sum().backward()
    assert found.isfinite().all() and (found >= -1e-6).all() and (found <= 1 + 1e-5).all()
    assert distances.grad.isfinite().all() and heights.grad.isfinite().all()


def encoder():
    torch.manual_seed(1)
    parser = DistanceParser(torch.nn.Embedding(20, 8, 1), 8, layers=2, width=3)
    layers = [DependencyAttention(8, 2, 16) for _ in range(2)]
    return StructFormerEncoder(parser, torch.nn.Embedding(20, 8, 1), layers, 10).double()


def test_neither_batch_nor_padding_changes_a_word():
    model = encoder()
    tokens = torch.randint(2, 20, (3, 6)).masked_fill(torch.arange(6) >= LENGTHS[:, None], 1)
    together = model(tokens, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        alone = model(tokens[b : b + 1, :n], LENGTHS[b : b + 1])
        torch.testing.assert_close(together.words[b, :n], alone.words[0])
        torch.testing.assert_close(together.arc_scores[b, :n, :n], alone.arc_scores[0])


def test_each_word_has_one_head_or_is_its_own():
    scores = encoder()(torch.randint(2, 20, (2, 6)), torch.tensor([6, 6])).arc_scores
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(2, 6, dtype=torch.float64))


def test_the_parser_learns_from_what_the_network_reads():
    model = encoder()
    model(torch.randint(2, 20, (2, 6)), torch.tensor([6, 5])).words[:, 0, 0].sum().backward()
    for part in (model.parser.distance, model.parser.height):
        assert part[0].weight.grad.abs().sum() > 0


def test_attention_follows_arcs_in_both_directions():
    torch.manual_seed(4)
    layer = DependencyAttention(8, 2, 16).double().eval()
    torch.nn.init.normal_(layer.balance)
    words, arcs = torch.randn(2, 5, 8).double(), torch.rand(2, 5, 5).double()
    found, weights = layer(words, arcs)
    query, key, value = layer.project(layer.first(words)).chunk(3, -1)
    messages = torch.zeros_like(words)
    for b in range(2):
        for head in range(2):
            own = slice(4 * head, 4 * head + 4)
            share = layer.balance[head].sigmoid()
            for i in range(5):
                for j in range(5):
                    a = (query[b, i, own] @ key[b, j, own] / 2).sigmoid()
                    a = a * (share * arcs[b, i, j] + (1 - share) * arcs[b, j, i])
                    torch.testing.assert_close(weights[b, head, i, j], a, rtol=0, atol=1e-12)
                    messages[b, i, own] += a * value[b, j, own]
    middle = words + layer.output(messages)
    torch.testing.assert_close(found, middle + layer.feedforward(layer.second(middle)))


def test_a_distance_is_that_between_a_word_and_the_next():
    parser = encoder().parser
    seen = []
    parser.distance[0].register_forward_hook(lambda _, given, __: seen.append(given[0]))
    parser.height[0].register_forward_hook(lambda _, given, __: seen.append(given[0]))
    parser(torch.randint(2, 20, (2, 6)), torch.tensor([6, 4]))
    pairs, states = seen
    torch.testing.assert_close(pairs[..., :8], states)
    torch.testing.assert_close(pairs[:, :-1, 8:], states[:, 1:])


def test_what_makes_no_network():
    with pytest.raises(ValueError, match="must be odd, not 4"):
        DistanceParser(torch.nn.Embedding(5, 8), 8, width=4)
    with pytest.raises(ValueError, match="must divide the size 8, not 3"):
        DependencyAttention(8, 3, 16)
    with pytest.raises(ValueError, match="only 10 positions"):
        encoder()(torch.randint(2, 20, (1, 11)), torch.tensor([11]))
