"""The head parser, its mask and the dependency graph network, against their equations."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.masked_lm.dependency_graph import (
    COMPETITIONS,
    NONLINEARITIES,
    DependencyGraphLayer,
    DependencyGraphNetwork,
)
from fairseq_struct.modules.masked_lm.head_parser import (
    HeadParser,
    TagSharedEmbedding,
    dependency_mask,
    head_probabilities,
)

LENGTHS = torch.tensor([5, 3, 1])


def parser(tags=4):
    torch.manual_seed(1)
    return HeadParser(TagSharedEmbedding(nn.Embedding(20, 6, 1), tags), 6, 4, layers=2).double()


def network(**options):
    torch.manual_seed(2)
    layers = [DependencyGraphLayer(6, 3, 4, **options) for _ in range(2)]
    for layer in layers:
        if layer.bias is not None:
            torch.nn.init.normal_(layer.bias)
    return DependencyGraphNetwork(layers, 6).double()


def sentences():
    tokens = torch.randint(2, 20, (3, 5), generator=torch.Generator().manual_seed(3))
    return tokens.masked_fill(torch.arange(5) >= LENGTHS[:, None], 1)


def test_words_share_the_vectors_of_tags():
    embedding = TagSharedEmbedding(nn.Embedding(7, 3, 1), 2)
    torch.nn.init.normal_(embedding.choice.weight)
    token = torch.tensor(5)
    weights = embedding.choice.weight[5].softmax(0)
    shared = weights[0] * embedding.tags[0] + weights[1] * embedding.tags[1]
    torch.testing.assert_close(embedding(token), embedding.words.weight[5] + shared)
    assert TagSharedEmbedding(nn.Embedding(7, 3, 1), 0).tags is None
    with pytest.raises(ValueError, match="number of tags must be 0 or more"):
        TagSharedEmbedding(nn.Embedding(7, 3, 1), -1)


def test_scores_are_those_of_heads_and_dependents():
    model, tokens = parser(), sentences()
    scores = model(tokens, LENGTHS)
    words = model.context(model.embedding(tokens), LENGTHS)
    for h in range(5):
        for m in range(5):
            product = (model.dependent(words[0, m]) * model.head(words[0, h])).sum()
            torch.testing.assert_close(scores[0, h, m], product / 4**0.5)


def test_each_word_has_one_head_in_expectation():
    scores = parser()(sentences(), LENGTHS)
    p = head_probabilities(scores, LENGTHS)
    words = (torch.arange(5) < LENGTHS[:, None]).double()
    torch.testing.assert_close(p.sum(1), words)
    torch.testing.assert_close(p[1, :3, 1], scores[1, :3, 1].softmax(0))
    assert head_probabilities(scores.half(), LENGTHS).dtype == torch.float32


def test_the_mask_is_the_probability_of_an_arc_in_either_direction():
    p = head_probabilities(parser()(sentences(), LENGTHS), LENGTHS)
    mask = dependency_mask(p)
    for i in range(5):
        for j in range(5):
            neither = (1 - p[:, i, j]) * (1 - p[:, j, i])
            torch.testing.assert_close(mask[:, i, j], 1 - neither if i != j else 0 * neither)
    assert torch.equal(mask, mask.mT) and (mask >= 0).all() and (mask <= 1).all()
    certain = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    assert torch.equal(dependency_mask(certain), certain)


@pytest.mark.parametrize(
    "options",
    [*({"nonlinearity": name} for name in NONLINEARITIES), {"gates": False},
     *({"competition": name} for name in COMPETITIONS), {"position_bias": False}],
    ids=str,
)  # fmt: skip
def test_a_layer_is_its_equations_pair_by_pair(options):
    layer = network(**options).layers[0]
    words, mask = torch.randn(2, 4, 6).double(), torch.rand(2, 4, 4).double()
    result, shares = layer(words, mask)
    parts = layer.channel(words).view(2, 4, -1, 3, 4)
    function = NONLINEARITIES[layer.nonlinearity]
    for b in range(2):
        for i in range(4):
            messages = torch.zeros(3, 4).double()
            for j in range(4):
                scores = []
                for k in range(3):
                    score = (parts[b, i, 0, k] @ parts[b, j, 1, k]) / 4**0.5
                    if layer.bias is not None and i != j:
                        score = score + layer.bias[0 if i > j else 1, k]
                    scores.append(score)
                scores = torch.stack(scores)
                chosen = scores.softmax(0) if layer.competition == "softmax" else scores.sigmoid()
                torch.testing.assert_close(shares[b, :, i, j], chosen)
                for k in range(3):
                    message = function(parts[b, j, 2, k])
                    if layer.gates:
                        message = message * parts[b, i, 3, k].sigmoid()
                    messages[k] += chosen[k] * mask[b, i, j] * message
            expected = words[b, i] + layer.output(messages.flatten())
            torch.testing.assert_close(result[b, i], expected)


def run(model, graph, tokens, lengths):
    scores = model(tokens, lengths)
    mask = dependency_mask(head_probabilities(scores, lengths))
    words = graph(model.embedding(tokens), mask)[0]
    return scores, words


def test_neither_batch_nor_padding_changes_a_word():
    model, graph, tokens = parser(), network(), sentences()
    scores, words = run(model, graph, tokens, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        alone = run(model, graph, tokens[b : b + 1, :n], LENGTHS[b : b + 1])
        torch.testing.assert_close(scores[b, :n, :n], alone[0][0])
        torch.testing.assert_close(words[b, :n], alone[1][0])


def test_the_parser_learns_from_what_the_network_reads():
    model, graph = parser(), network()
    _, words = run(model, graph, sentences(), LENGTHS)
    words[:2].square().sum().backward()
    for parameter in model.head.parameters():
        assert parameter.grad.isfinite().all()
    assert model.head.weight.grad.abs().sum() > 0
    assert model.dependent.weight.grad.abs().sum() > 0


def test_the_gradient_of_a_layer():
    layer = network().layers[0]
    words = torch.randn(1, 3, 6).double().requires_grad_()
    mask = torch.rand(1, 3, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda *given: layer(*given)[0], (words, mask))


def test_positions_in_place_of_biases():
    layers = [DependencyGraphLayer(6, 3, 4, position_bias=False)]
    graph = DependencyGraphNetwork(layers, 6, positions=4)
    words, mask = torch.randn(1, 4, 6), torch.rand(1, 4, 4)
    swapped = [1, 0, 2, 3]
    turned = graph(words[:, swapped], mask[:, swapped][:, :, swapped])[0]
    assert not torch.allclose(graph(words, mask)[0][:, swapped], turned)
    with pytest.raises(ValueError, match="a sentence of 5 words, but only 4 positions"):
        graph(torch.randn(1, 5, 6), torch.rand(1, 5, 5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nonlinearity": "swish"}, "unknown nonlinearity 'swish'; choose one of tanh, relu"),
        ({"competition": "max"}, "unknown competition 'max'; choose one of softmax, sigmoid"),
        ({"channels": 0}, "must be 1 or more"),
    ],
)
def test_options_that_make_no_layer(options, message):
    with pytest.raises(ValueError, match=message):
        DependencyGraphLayer(6, **options)
    with pytest.raises(ValueError, match="at least one layer"):
        DependencyGraphNetwork([], 6)
