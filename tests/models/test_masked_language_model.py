"""Properties of all masked language models: half precision, the parser alone, sizes."""

import math
from dataclasses import fields
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.modules.masked_lm.dependency_graph import (
    DependencyGraphLayer,
    DependencyGraphNetwork,
)
from fairseq_struct.modules.masked_lm.head_parser import HeadParser, TagSharedEmbedding
from fairseq_struct.modules.masked_lm.language_model import (
    MaskedLanguageModel,
    TransformerMaskedEncoder,
    UDGNEncoder,
)
from fairseq_struct.modules.masked_lm.structformer import (
    DependencyAttention,
    DistanceParser,
    StructFormerEncoder,
)

NUMBERS = (int, float)
WORDS, SIZE, LENGTHS = 20, 8, torch.tensor([6, 3, 1])


def udgn(embedding):
    parser = HeadParser(TagSharedEmbedding(nn.Embedding(WORDS, SIZE, 1), 3), SIZE, SIZE, 2)
    return UDGNEncoder(parser, embedding, DependencyGraphNetwork(
        [DependencyGraphLayer(SIZE, 2, 4) for _ in range(2)], SIZE))  # fmt: skip


def structformer(embedding):
    parser = DistanceParser(nn.Embedding(WORDS, SIZE, 1), SIZE, 2, 3)
    layers = [DependencyAttention(SIZE, 2, 16) for _ in range(2)]
    return StructFormerEncoder(parser, embedding, layers, 10)


def transformer(embedding):
    return TransformerMaskedEncoder(embedding, 2, 2, 16, 10)


def model_of(make):
    torch.manual_seed(1)
    embedding = nn.Embedding(WORDS, SIZE, 1)
    return MaskedLanguageModel(make(embedding), embedding)


def batch():
    torch.manual_seed(2)
    tokens = torch.randint(2, WORDS, (3, 6))
    inside = torch.arange(6) < LENGTHS[:, None]
    return tokens.masked_fill(~inside, 1), inside & (torch.arange(6) % 2 == 0)


def built(arch, **options):
    """The model of an architecture with the options it has of these, the others as they are."""
    plugin.load()
    from fairseq.data import Dictionary
    from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

    cfg = MODEL_DATACLASS_REGISTRY[arch]()
    vars(cfg).update(options)
    task = SimpleNamespace(source_dictionary=Dictionary(), own_criterion="structured_masked_lm")
    return MODEL_REGISTRY[arch].build_model(cfg, task)


@pytest.mark.parametrize("arch", ["udgn", "structformer", "masked_transformer"])
def test_a_model_says_whether_it_parses(arch):
    model = built(arch, embed_dim=8, layers=1, heads=2, parser_size=8, parser_tags=3)
    tokens, lengths = torch.tensor([[3, 0, 2]]), torch.tensor([3])
    assert model.parses == (model.encode(tokens, lengths).arc_scores is not None)
    if not model.parses:
        with pytest.raises(ValueError, match="infers no trees"):
            model.arc_scores(tokens, lengths)


@pytest.mark.parametrize("arch", ["udgn", "structformer", "masked_transformer"])
def test_every_number_has_a_range(arch):
    plugin.load()
    from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

    model = MODEL_REGISTRY[arch]
    numbers = {one.name for one in fields(MODEL_DATACLASS_REGISTRY[arch]) if one.type in NUMBERS}
    named = (*model.SIZES, *model.COUNTS, *model.SHARES)
    assert {*named} == numbers and len(named) == len(numbers)
    wrong = [(name, 0) for name in model.SIZES] + [(name, -1) for name in model.COUNTS]
    wrong += [(name, value) for name in model.SHARES for value in (-0.1, 1.0, math.nan)]
    for name, value in wrong:
        option = name.replace("_", "-")
        with pytest.raises(InputError, match=f"^--{option} must be [01] or more.*, not {value}$"):
            built(arch, **{name: value})


def test_messages_of_a_udgn_go_along_the_mask_of_its_parser():
    encoder = model_of(udgn).encoder.double()
    tokens, _ = batch()
    scores = encoder.arc_scores(tokens, LENGTHS)
    mask = torch.zeros(3, 6, 6, dtype=torch.float64)
    for b, n in enumerate(LENGTHS.tolist()):
        p = scores[b, :n, :n].softmax(0)
        for i in range(n):
            for j in range(n):
                if i != j:
                    mask[b, i, j] = p[i, j] + p[j, i] - p[i, j] * p[j, i]
    expected, _ = encoder.graph(encoder.embedding(tokens), mask)
    torch.testing.assert_close(encoder(tokens, LENGTHS).words, expected)


ABLATIONS = [
    ({"no_gates": True}, lambda layer: not layer.gates and layer.channel.out_features == 3 * 32),
    ({"nonlinearity": "identity"}, lambda layer: layer.nonlinearity == "identity"),
    ({"competition": "sigmoid"}, lambda layer: layer.competition == "sigmoid"),
    ({"absolute_positions": 9}, lambda layer: layer.bias is None),
    ({"channels": 1, "channel_size": 32}, lambda layer: layer.channels == 1),
    ({}, lambda layer: layer.gates and layer.nonlinearity == "tanh" and layer.bias is not None
     and layer.competition == "softmax" and layer.channels == 2),
]  # fmt: skip


@pytest.mark.parametrize(("options", "right"), ABLATIONS)
def test_ablations_are_options_of_the_model(options, right):
    sizes = {"embed_dim": 8, "layers": 2, "channels": 2, "channel_size": 16, "parser_size": 8}
    graph = built("udgn", **{**sizes, **options}).network.encoder.graph
    assert len(graph.layers) == 2 and all(right(layer) for layer in graph.layers)
    assert (graph.positions is not None) == ("absolute_positions" in options)


@pytest.mark.parametrize("arch", ["udgn", "structformer", "masked_transformer"])
def test_positions_start_as_large_as_words(arch):
    """Otherwise the words would be lost in them: nothing scales their sum."""
    model = built(arch, embed_dim=64, absolute_positions=64, longest_sentence=64)
    (positions,) = [w for name, w in model.named_parameters() if name.endswith("positions.weight")]
    words = model.network.embedding.weight
    assert 0.5 < positions.std() / words.std() < 2


@pytest.mark.parametrize("make", [udgn, structformer, transformer])
def test_a_training_step_in_bfloat16_is_finite_and_near_that_in_float32(make):
    tokens, hidden = batch()
    results = []
    for precision in (torch.float32, torch.bfloat16):
        model = model_of(make).to(precision)
        scores, encoding = model(tokens, LENGTHS, hidden)
        assert scores.dtype == precision
        # Scores become probabilities in float32, whatever the network's precision.
        assert all(share.dtype == torch.float32 for share in encoding.shares)
        loss = nn.functional.cross_entropy(scores.float(), tokens[hidden])
        loss.backward()
        gradients = [leaf.grad for leaf in model.parameters() if leaf.grad is not None]
        assert len(gradients) == len(list(model.parameters()))
        assert all(gradient.isfinite().all() for gradient in gradients)
        results.append(loss.item())
    assert results[1] == pytest.approx(results[0], rel=0.03)


@pytest.mark.parametrize("make", [udgn, structformer])
def test_the_parser_alone_is_that_of_the_model(make):
    tokens, hidden = batch()
    model = model_of(make).eval()
    _, encoding = model(tokens, LENGTHS, hidden)
    alone = model.encoder.arc_scores(tokens, LENGTHS)
    assert torch.equal(alone, encoding.arc_scores)


@pytest.mark.parametrize("make", [udgn, structformer, transformer])
def test_hidden_words_are_predicted_alike_alone_and_in_a_batch(make):
    tokens, hidden = batch()
    model = model_of(make).double().eval()
    together, _ = model(tokens, LENGTHS, hidden)
    alone = [
        model(tokens[row : row + 1, :n], LENGTHS[row : row + 1], hidden[row : row + 1, :n])[0]
        for row, n in enumerate(LENGTHS.tolist())
    ]
    torch.testing.assert_close(together, torch.cat(alone))


def test_dropout_of_attention_is_an_option_of_all():
    tokens, hidden = batch()
    embedding = nn.Embedding(WORDS, SIZE, 1)
    encoders = (
        TransformerMaskedEncoder(embedding, 1, 2, 16, 10, 0.0, 0.5),
        StructFormerEncoder(
            DistanceParser(nn.Embedding(WORDS, SIZE, 1), SIZE, 1, 3), embedding,
            [DependencyAttention(SIZE, 2, 16, 0.0, 0.5)], 10,
        ),
    )  # fmt: skip
    for encoder in encoders:
        first, second = (encoder(tokens, LENGTHS).words for _ in range(2))
        assert not torch.allclose(first, second)
        encoder.eval()
        assert torch.equal(*(encoder(tokens, LENGTHS).words for _ in range(2)))
