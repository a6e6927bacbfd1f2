"""The two-pass model against direct computations, and against fairseq's own Transformer."""

from argparse import SUPPRESS, ArgumentParser, Namespace

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics
from fairseq.models.transformer import TransformerModel
from scheduled_sampling_models import (
    constant,
    plain_model,
    toy_batch,
    toy_model,
    toy_options,
    toy_task,
)

from fairseq_struct.errors import InputError
from fairseq_struct.models.scheduled_sampling_presets import iwslt_de_en, kftt_ja_en
from fairseq_struct.models.scheduled_sampling_transformer import (
    ScheduledSamplingTransformer,
    scheduled_sampling_architecture,
)
from fairseq_struct.modules.scheduled_sampling.embedding_mix import MIXES
from fairseq_struct.modules.scheduled_sampling.input_replacement import (
    flip_coins,
    replaceable_positions,
)


def loss_of(model, batch):
    criterion = LabelSmoothedCrossEntropyCriterion(toy_task(), True, 0.1)
    return criterion(model, batch)[0]


def gradients_of(model, batch):
    model.zero_grad()
    loss = loss_of(model, batch)
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_probability_one_is_the_plain_transformer_bit_for_bit(dropout):
    results = []
    for model in (toy_model(**constant(1.0), dropout=dropout), plain_model(dropout=dropout)):
        torch.manual_seed(4)
        results.append(gradients_of(model, toy_batch()))
    (our_loss, ours), (plain_loss, plain) = results
    assert torch.equal(our_loss, plain_loss)
    assert ours.keys() == plain.keys()
    assert all(torch.equal(ours[name], plain[name]) for name in ours)


def test_layers_are_left_out_as_in_the_plain_transformer():
    results = []
    for kind in (lambda **drop: toy_model(**constant(1.0), **drop), plain_model):
        model = kind(decoder_layerdrop=0.5)
        outputs = []
        for seed in range(4):
            torch.manual_seed(seed)
            outputs.append(model(**toy_batch()["net_input"])[0].detach())
        results.append(torch.stack(outputs))
    ours, plain = results
    assert not torch.equal(plain[0], plain[1])
    assert torch.equal(ours, plain)


def test_the_shift_in_three_tokens():
    """BOS a b: position 1 takes the best word after BOS, position 2 the best after BOS a."""
    model = toy_model(mix="argmax", **constant(0.0))
    batch = toy_batch(target_lengths=(3,), source_lengths=(4,))["net_input"]
    bos, *_ = gold = batch["prev_output_tokens"][0].tolist()
    with torch.no_grad():
        ours, _ = model(**batch)
        scores, _ = plain_model()(**batch)
        scores[..., toy_task().target_dictionary.pad()] = -torch.inf
        best = scores[0].argmax(1).tolist()
        fed = [bos, best[0], best[1]]
        assert fed != gold  # otherwise the test could not fail
        expected, _ = plain_model()(**{**batch, "prev_output_tokens": torch.tensor([fed])})
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("mix", MIXES)
def test_pass_one_stores_no_graph_unless_asked(mix, monkeypatch):
    seen = []
    for gradient in (False, True):
        if gradient and mix in ("argmax", "sample"):
            continue
        model = toy_model(mix=mix, first_pass_gradient=gradient, **constant(0.2))
        forward = model.mix.forward

        def spy(scores, *rest, forward=forward, **options):
            seen.append(scores.requires_grad)
            return forward(scores, *rest, **options)

        monkeypatch.setattr(model.mix, "forward", spy)
        loss_of(model, toy_batch()).backward()
        assert all(p.grad is not None for p in model.parameters())
    assert seen == [False, True][: len(seen)]


def test_as_many_passes_as_words_are_the_sequential_procedure():
    """With fixed replacements and argmax, pass n settles position n (Duckworth et al., 2019)."""
    length = 6
    model = toy_model(mix="argmax", decoder_passes=length, **constant(0.4)).double()
    batch = toy_batch(target_lengths=(length, 4), source_lengths=(5, 3))["net_input"]
    gold = batch["prev_output_tokens"]
    generator = model._generator_on(torch.device("cpu"))
    coins = flip_coins(replaceable_positions(gold, 1), 0.4, generator)
    model._generator = None
    plain = plain_model().double()
    sequence = gold.clone()
    with torch.no_grad():
        for position in range(1, length):
            scores, _ = plain(**{**batch, "prev_output_tokens": sequence})
            scores[..., 1] = -torch.inf
            best = scores[:, position - 1].argmax(1)
            sequence[:, position] = torch.where(coins[:, position], best, gold[:, position])
        assert not torch.equal(sequence, gold)
        expected, _ = plain(**{**batch, "prev_output_tokens": sequence})
        ours, _ = model(**batch)
    words = gold.ne(1)
    torch.testing.assert_close(ours[words], expected[words])


@pytest.mark.parametrize("mix", ["argmax", "top_k", "softmax", "sparsemax"])
def test_a_sentence_does_not_depend_on_its_batch_or_padding(mix):
    model = toy_model(mix=mix, **constant(0.0)).double()
    batch = toy_batch(target_lengths=(7, 3, 5), source_lengths=(2, 6, 4))["net_input"]
    with torch.no_grad():
        together, _ = model(**batch)
        for row, (n, m) in enumerate(((2, 7), (6, 3), (4, 5))):
            source = batch["src_tokens"][row : row + 1, -n:]
            inputs = batch["prev_output_tokens"][row : row + 1, :m]
            alone, _ = model(source, torch.tensor([n]), inputs)
            torch.testing.assert_close(together[row, :m], alone[0])


def test_validation_and_generation_are_plain():
    model, plain = toy_model(**constant(0.0)).eval(), plain_model().eval()
    batch = toy_batch()["net_input"]
    assert torch.equal(model(**batch)[0], plain(**batch)[0])


@pytest.mark.parametrize("tied", [True, False])
def test_checkpoints_pass_between_ours_and_the_plain_transformer(tied):
    sharing = {"share_all_embeddings": tied}
    ours, plain = toy_model(seed=1, **sharing), plain_model(seed=2, **sharing)
    batch = toy_batch()["net_input"]
    plain.load_state_dict(ours.state_dict(), strict=True)
    assert torch.equal(plain.eval()(**batch)[0], ours.eval()(**batch)[0])
    other = plain_model(seed=3, **sharing)
    ours.load_state_dict(other.state_dict(), strict=True)
    assert torch.equal(other.eval()(**batch)[0], ours.eval()(**batch)[0])


def test_untied_embeddings_mix_the_input_table():
    model = toy_model(share_all_embeddings=False, mix="argmax", **constant(0.0))
    assert model.decoder.output_projection.weight is not model.decoder.embed_tokens.weight
    loss, gradients = gradients_of(model, toy_batch())
    assert torch.isfinite(loss) and gradients["decoder.embed_tokens.weight"].abs().sum() > 0


def test_the_schedule_follows_set_num_updates():
    model = toy_model(schedule_end_update=100, schedule_warmup_updates=20, schedule_floor=0.1)
    expected = {0: 1.0, 19: 1.0, 20: 1.0, 60: 0.5, 99: 0.1, 5000: 0.1}
    for update, probability in expected.items():
        model.set_num_updates(update)
        assert model.teacher_forcing_probability == pytest.approx(probability)


def test_coins_depend_on_seed_update_and_worker_but_not_on_fairseqs_random_state(monkeypatch):
    def state(seed, update, rank):
        module = "fairseq_struct.models.scheduled_sampling_transformer"
        monkeypatch.setattr(f"{module}.torch.distributed.is_initialized", lambda: True)
        monkeypatch.setattr(f"{module}.get_data_parallel_rank", lambda: rank)
        torch.manual_seed(torch.seed())
        model = toy_model(seed=1, **constant(0.5))
        model.seed = seed
        model.set_num_updates(update)
        return torch.rand(8, generator=model._generator_on(torch.device("cpu"))).tolist()

    assert state(1, 7, 0) == state(1, 7, 0)
    distinct = [state(1, 7, 0), state(2, 7, 0), state(1, 8, 0), state(1, 7, 1)]
    assert len({tuple(draws) for draws in distinct}) == 4


def test_the_second_batch_of_an_update_gets_coins_of_its_own():
    model = toy_model(**constant(0.5))
    states = []
    for _ in range(2):
        loss_of(model, toy_batch())
        states.append(model._generator.get_state())
    assert not torch.equal(*states)


def test_probability_and_replaced_fraction_are_logged():
    model = toy_model(schedule_end_update=100)
    model.set_num_updates(25)
    batch = toy_batch(target_lengths=(200,) * 8, source_lengths=(3,) * 8)
    with metrics.aggregate(new_root=True) as log:
        loss_of(model, batch)
    values = log.get_smoothed_values()
    assert values["teacher_forcing"] == 0.75
    assert values["replaced"] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("how", ["fp16", "bf16", "amp"])
def test_low_precision_training_steps_are_finite(mix, how):
    gradient = mix not in ("argmax", "sample")
    model = toy_model(mix=mix, first_pass_gradient=gradient, dropout=0.1, **constant(0.3))
    if how != "amp":
        model = model.to(torch.float16 if how == "fp16" else torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=how == "amp"):
        loss = loss_of(model, toy_batch())
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_batches_without_words_to_replace_pass():
    model = toy_model(**constant(0.0))
    batch = toy_batch(target_lengths=(1, 1), source_lengths=(2, 2))
    assert torch.equal(loss_of(model, batch), loss_of(plain_model(), batch))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adaptive_softmax_cutoff": "5,8"}, "--adaptive-softmax-cutoff"),
        ({"adaptive_input": True}, "--adaptive-input"),
        ({"mix": "top_k", "mix_top_k": 1000}, "--mix-top-k 1000 exceeds the target vocabulary"),
        ({"mix": "argmax", "first_pass_gradient": True}, "--first-pass-gradient has no effect"),
        ({"mix": "sample", "first_pass_gradient": True}, "--first-pass-gradient has no effect"),
        ({"mix_alpha": -1.0}, "--mix top_k: the inverse temperature"),
        ({"decoder_passes": 1}, "--decoder-passes must be 2 or more"),
        ({"max_update": 0}, "--schedule linear needs its slope"),
        ({"schedule": "exponential"}, "--schedule exponential: .* needs its k"),
        ({"schedule_c": 0.1, "schedule_end_update": 5}, "--schedule linear: .* either its slope"),
        ({"replacement": "confidence", "confidence_threshold": 0.99}, "in that order"),
        ({"replacement": "confidence", "schedule_k": 0.5}, "only --schedule-warmup-updates"),
        ({"schedule": "linear", "schedule_end_update": 9, "schedule_warmup_updates": 9},
         "ends at update 9, before --schedule-warmup-updates 9 is over"),
        ({"replacement": "own_confidence", "schedule_floor": 0.5}, "own_confidence uses only"),
        ({"mix_scale_noise": True}, "--mix-scale-noise works only with --mix gumbel_softmax"),
        ({"schedule_warmup_updates": -1}, "--schedule linear: .* 0 updates or more"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ScheduledSamplingTransformer.build_model(toy_options(**options), toy_task())


def test_options_get_their_defaults_from_the_architecture():
    parser = ArgumentParser(argument_default=SUPPRESS)
    ScheduledSamplingTransformer.add_args(parser)
    assert vars(parser.parse_args([])) == {}
    given = parser.parse_args(["--mix=sample", "--schedule-k=2", "--mix-scale-noise"])
    scheduled_sampling_architecture(given)
    assert (given.mix, given.schedule_k, given.mix_scale_noise) == ("sample", 2.0, True)
    assert (given.schedule, given.schedule_c, given.mix_top_k) == ("linear", None, 5)
    for unknown in ("--mix=mean", "--schedule=cosine", "--replacement=some"):
        with pytest.raises(SystemExit):
            parser.parse_args([unknown])


def test_presets_are_table_3_1():
    for preset, dropout in ((iwslt_de_en, 0.2), (kftt_ja_en, 0.1)):
        options = Namespace()
        preset(options)
        assert (options.encoder_layers, options.decoder_layers) == (6, 6)
        assert (options.encoder_embed_dim, options.decoder_embed_dim) == (512, 512)
        assert (options.encoder_attention_heads, options.decoder_attention_heads) == (8, 8)
        assert options.share_all_embeddings and options.dropout == dropout


def test_the_model_is_fairseqs_transformer_in_all_but_training():
    assert issubclass(ScheduledSamplingTransformer, TransformerModel)
