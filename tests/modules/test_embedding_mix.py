"""Embedding mixes against direct loops over the vocabulary, and their gradients."""

import math

import pytest
import torch
from entmax import entmax15, sparsemax

from fairseq_struct.modules.scheduled_sampling.embedding_mix import (
    DISCRETE_MIXES,
    MIXES,
    EmbeddingMix,
    sparse_weights,
)
from fairseq_struct.structure.categorical import gumbel_noise

VOCABULARY, DIM, N = 11, 4, 6


def scores_and_embeddings(dtype=torch.float64, vocabulary=VOCABULARY):
    generator = torch.Generator().manual_seed(3)
    scores = 2 * torch.randn(N, vocabulary, generator=generator, dtype=dtype)
    embeddings = torch.randn(vocabulary, DIM, generator=generator, dtype=dtype)
    return scores, embeddings


def loop(scores, embeddings, weights_of):
    """sum_y w(y) e(y), word by word, with Python's own arithmetic."""
    rows = []
    for row in scores.tolist():
        weights = weights_of(row)
        rows.append(
            [
                sum(w * embeddings[y, d].item() for y, w in enumerate(weights))
                for d in range(embeddings.size(1))
            ]
        )
    return torch.tensor(rows, dtype=scores.dtype)


def softmax_of(row):
    top = max(row)
    powers = [math.exp(value - top) for value in row]
    return [power / sum(powers) for power in powers]


def sparsemax_of(row):
    """Threshold by sorting, as in Martins and Astudillo (2016), algorithm 1."""
    ordered = sorted(row, reverse=True)
    support = max(k for k in range(1, len(row) + 1) if 1 + k * ordered[k - 1] > sum(ordered[:k]))
    threshold = (sum(ordered[:support]) - 1) / support
    return [max(value - threshold, 0.0) for value in row]


def test_argmax_is_the_best_words_embedding():
    scores, embeddings = scores_and_embeddings()
    one_hot = lambda row: [float(value == max(row)) for value in row]  # noqa: E731
    expected = loop(scores, embeddings, one_hot)
    assert torch.equal(EmbeddingMix("argmax")(scores, embeddings), expected)


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_softmax_is_equation_3_1(alpha):
    scores, embeddings = scores_and_embeddings()
    expected = loop(scores, embeddings, lambda row: softmax_of([alpha * v for v in row]))
    torch.testing.assert_close(EmbeddingMix("softmax", alpha)(scores, embeddings), expected)


def test_top_k_renormalises_the_output_probabilities():
    def weights(row):
        probabilities = softmax_of(row)
        best = sorted(range(len(row)), key=lambda y: -row[y])[:3]
        total = sum(probabilities[y] for y in best)
        return [probabilities[y] / total if y in best else 0.0 for y in range(len(row))]

    scores, embeddings = scores_and_embeddings()
    expected = loop(scores, embeddings, weights)
    torch.testing.assert_close(EmbeddingMix("top_k", top_k=3)(scores, embeddings), expected)


def test_top_k_of_the_whole_vocabulary_is_softmax():
    scores, embeddings = scores_and_embeddings()
    top = EmbeddingMix("top_k", top_k=VOCABULARY)(scores, embeddings)
    torch.testing.assert_close(top, EmbeddingMix("softmax")(scores, embeddings))


@pytest.mark.parametrize("alpha", [1.0, 0.2])
def test_sparsemax_is_the_projection(alpha):
    scores, embeddings = scores_and_embeddings()
    expected = loop(scores, embeddings, lambda row: sparsemax_of([alpha * v for v in row]))
    torch.testing.assert_close(EmbeddingMix("sparsemax", alpha)(scores, embeddings), expected)


def test_entmax15_is_the_librarys_mapping():
    scores, embeddings = scores_and_embeddings()
    expected = entmax15(scores, dim=1) @ embeddings
    torch.testing.assert_close(EmbeddingMix("entmax15")(scores, embeddings), expected)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 100.0])
def test_sparse_weights_are_exact_whatever_the_support(mapping, scale):
    """Flat scores have the whole vocabulary as support and force the number of words up."""
    scores, _ = scores_and_embeddings(vocabulary=200)
    indices, weights = sparse_weights(scale * scores, mapping, start=4)
    dense = torch.zeros_like(scores).scatter(1, indices, weights)
    torch.testing.assert_close(dense, mapping(scale * scores, dim=1))


@pytest.mark.parametrize("scale_noise", [False, True])
def test_gumbel_softmax_is_equation_3_2(scale_noise):
    """By default alpha scales the scores alone; with scale_noise it scales the noise too."""
    scores, embeddings = scores_and_embeddings()
    alpha = 3.0
    generator = torch.Generator().manual_seed(5)
    uniform = torch.rand(scores.shape, generator=generator, dtype=scores.dtype)
    noise = torch.tensor([[-math.log(-math.log(u)) for u in row] for row in uniform.tolist()])
    noise = noise.to(scores) * (alpha if scale_noise else 1.0)
    expected = loop(alpha * scores + noise, embeddings, softmax_of)
    generator.manual_seed(5)
    mixed = EmbeddingMix("gumbel_softmax", alpha, scale_noise=scale_noise)(
        scores, embeddings, generator
    )
    torch.testing.assert_close(mixed, expected, atol=1e-6, rtol=1e-6)


def test_sample_draws_from_the_softmax():
    draws = 40_000
    scores = torch.tensor([0.5, 0.0, -1.0, 1.0]).expand(draws, 4)
    mixed = EmbeddingMix("sample", alpha=1.5)(
        scores, torch.eye(4), torch.Generator().manual_seed(1)
    )
    assert set(mixed.unique().tolist()) == {0.0, 1.0}  # whole tokens
    # Six standard deviations of a frequency are 0.015 here.
    torch.testing.assert_close(
        mixed.mean(0), (1.5 * scores[0]).softmax(0), atol=0.015, rtol=0
    )


def test_gumbel_noise_has_the_distribution_of_gumbel():
    noise = gumbel_noise(torch.empty(200_000), torch.Generator().manual_seed(2))
    assert noise.mean().item() == pytest.approx(0.5772, abs=0.02)
    assert noise.var().item() == pytest.approx(math.pi**2 / 6, rel=0.02)


@pytest.mark.parametrize("name", [name for name in MIXES if name not in DISCRETE_MIXES])
def test_gradients_reach_scores_and_embeddings(name):
    scores, embeddings = scores_and_embeddings()
    mix = EmbeddingMix(name, alpha=0.7, top_k=3)

    def mixed(scores, embeddings):
        return mix(scores, embeddings, torch.Generator().manual_seed(7))

    inputs = (scores.requires_grad_(), embeddings.requires_grad_())
    assert torch.autograd.gradcheck(mixed, inputs)


@pytest.mark.parametrize("scale_noise", [False, True])
@pytest.mark.parametrize("name", ["softmax", "gumbel_softmax"])
def test_scores_without_gradient_give_the_same_vectors_and_embedding_gradients(name, scale_noise):
    """They take another path, which may overwrite the scores' memory, but only with permission."""
    scores, embeddings = scores_and_embeddings()
    mix = EmbeddingMix(name, alpha=3.0, scale_noise=scale_noise)
    results = []
    for given, overwrite in (
        (scores.clone().requires_grad_(), True),
        (scores, False),
        (scores.clone(), True),
    ):
        before = given.detach().clone()
        table = embeddings.clone().requires_grad_()
        mixed = mix(given, table, torch.Generator().manual_seed(7), overwrite)
        assert torch.equal(given, before) != (overwrite and not given.requires_grad)
        (gradient,) = torch.autograd.grad(mixed.square().sum(), table)
        results.append((mixed, gradient))
    for result in results[1:]:
        torch.testing.assert_close(result, results[0])


def test_noise_is_finite_even_where_the_uniform_variable_is_zero(monkeypatch):
    """A zero occurs once in 2^24 draws, so in every long training."""
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.zeros(shape))
    assert gumbel_noise(torch.empty(3)).isfinite().all()
    scores, embeddings = scores_and_embeddings(torch.float32)
    scores[:, 0] = 1e5  # all other weights are exactly 0
    assert torch.equal(EmbeddingMix("gumbel_softmax")(scores, embeddings)[0], embeddings[0])


@pytest.mark.parametrize("name", DISCRETE_MIXES)
def test_discrete_mixes_pass_gradients_to_the_embeddings_only(name):
    scores, embeddings = scores_and_embeddings()
    EmbeddingMix(name)(scores.requires_grad_(), embeddings.requires_grad_()).sum().backward()
    assert scores.grad is None
    assert embeddings.grad.abs().sum() > 0


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_scores_give_float32_weights_and_half_vectors(name, dtype):
    scores, embeddings = scores_and_embeddings(torch.float32)
    scores, embeddings = (100 * scores).to(dtype), embeddings.to(dtype)
    scores[:, 1] = -torch.inf
    mixed = EmbeddingMix(name)(scores, embeddings, torch.Generator().manual_seed(1))
    full = EmbeddingMix(name)(
        scores.float(), embeddings.float(), torch.Generator().manual_seed(1)
    )
    assert mixed.dtype == dtype
    torch.testing.assert_close(mixed.float(), full, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("name", MIXES)
def test_an_excluded_word_gets_no_weight_and_rows_are_independent(name):
    scores, embeddings = scores_and_embeddings()
    scores[:, 2] = -torch.inf
    moved = embeddings.clone()
    moved[2] += 1000
    mix = EmbeddingMix(name, top_k=VOCABULARY)
    results = [
        mix(scores, table, torch.Generator().manual_seed(1)) for table in (embeddings, moved)
    ]
    torch.testing.assert_close(*results)
    if name not in ("sample", "gumbel_softmax"):  # its noise depends on the row's position
        single = torch.cat([mix(row.unsqueeze(0), embeddings) for row in scores])
        torch.testing.assert_close(results[0], single)


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("score", [torch.nan, torch.inf])
def test_overflown_scores_give_nan_in_their_row_only(name, score):
    """fp16 training meets such scores and recovers; the mix must neither hide nor crash."""
    scores, embeddings = scores_and_embeddings(torch.float32)
    scores[1, 3] = score
    mixed = EmbeddingMix(name)(scores, embeddings, torch.Generator().manual_seed(1))
    assert mixed[1].isnan().all()
    assert mixed[[0, 2, 3, 4, 5]].isfinite().all()


@pytest.mark.parametrize("name", MIXES)
def test_no_rows_give_no_vectors(name):
    _, embeddings = scores_and_embeddings()
    assert EmbeddingMix(name)(torch.empty(0, VOCABULARY), embeddings).shape == (0, DIM)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "mean"}, "unknown embedding mix 'mean'"),
        ({"name": "softmax", "alpha": 0.0}, "alpha must be above 0"),
        ({"name": "softmax", "alpha": float("nan")}, "alpha must be above 0"),
        ({"name": "softmax", "alpha": float("inf")}, "alpha must be above 0 and finite"),
        ({"name": "top_k", "top_k": 0}, "top_k must be 1 or more"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingMix(**options)


def test_shapes_that_do_not_fit_are_refused():
    scores, embeddings = scores_and_embeddings()
    with pytest.raises(ValueError, match=r"scores must be \(n, 11\)"):
        EmbeddingMix("softmax")(scores[:, :5], embeddings)
    with pytest.raises(ValueError, match="top_k = 12 exceeds the vocabulary of 11"):
        EmbeddingMix("top_k", top_k=12)(scores, embeddings)
