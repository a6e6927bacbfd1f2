"""The two-pass model against a direct computation at all positions."""

import pytest
import torch
from scheduled_sampling_models import constant, toy_batch, toy_model

from fairseq_struct.modules.scheduled_sampling.input_replacement import (
    embeddings_replaced,
    flip_coins,
    replaceable_positions,
)


def two_passes_written_out(model, batch, coins, gradient):
    """Scores of the second pass, computed at every position."""
    inputs = batch["net_input"]["prev_output_tokens"]
    encoder_out = model.encoder(
        batch["net_input"]["src_tokens"], batch["net_input"]["src_lengths"]
    )
    scores, _ = model.decoder(inputs, encoder_out=encoder_out)
    scores = scores if gradient else scores.detach()
    scores = scores.index_fill(2, torch.tensor([model.decoder.padding_idx]), -torch.inf)
    table = model.decoder.embed_tokens.weight
    # Deterministic mixes only: with random ones the check would depend on the order of draws.
    mixed = model.mix(scores.flatten(0, 1), table).view(*inputs.shape, -1)
    candidates = torch.zeros_like(mixed)
    candidates[:, 1:] = mixed[:, :-1]  # the prediction made at i - 1 is a candidate for i
    rows, columns = coins.nonzero(as_tuple=True)
    with embeddings_replaced(model.decoder.embed_tokens, rows, columns, candidates[rows, columns]):
        return model.decoder(inputs, encoder_out=encoder_out)[0]


def assert_equals_the_computation_written_out(probability, gradient, **options):
    model = toy_model(first_pass_gradient=gradient, **options, **constant(probability)).double()
    batch = toy_batch(target_lengths=(7, 5, 2, 4), source_lengths=(3, 6, 5, 2))
    replaceable = replaceable_positions(batch["net_input"]["prev_output_tokens"], 1)
    coins = flip_coins(replaceable, probability, model._generator_on(torch.device("cpu")))
    assert coins.any()
    weights = torch.randn(7, generator=torch.Generator().manual_seed(1)).double()

    def scores_and_gradients(scores):
        model.zero_grad()
        (scores * weights[:, None]).square().sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        assert "decoder.layers.1.fc1.weight" in gradients
        return scores.detach(), gradients

    expected = scores_and_gradients(two_passes_written_out(model, batch, coins, gradient))
    model._generator = None
    ours = scores_and_gradients(model(**batch["net_input"])[0])
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("probability", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("mix", ["top_k", "softmax", "sparsemax", "entmax15"])
def test_two_passes_equal_the_computation_written_out(mix, gradient, probability):
    """Also covers the parts that the model skips: idle sentences, the tail, unused projections."""
    assert_equals_the_computation_written_out(
        probability, gradient, mix=mix, mix_alpha=0.8, mix_top_k=3
    )


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"no_scale_embedding": True, "layernorm_embedding": True},
        {"decoder_learned_pos": True, "encoder_learned_pos": True, "max_target_positions": 32},
        {"no_token_positional_embeddings": True, "decoder_normalize_before": True},
        {"checkpoint_activations": True},
        {"share_all_embeddings": False, "activation_fn": "gelu"},
        {"no_cross_attention": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_the_transformer_reach_both_passes(options, gradient):
    assert_equals_the_computation_written_out(0.5, gradient, mix="softmax", **options)
