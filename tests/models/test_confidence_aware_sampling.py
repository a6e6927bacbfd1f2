"""Replacement of inputs by confidence (Liu et al. 2021, and our variant), and pass 1's loss."""

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.distributed import ModuleProxyWrapper
from scheduled_sampling_models import constant, plain_model, toy_batch, toy_model, toy_task

from fairseq_struct.criterions.scheduled_sampling_cross_entropy import (
    ScheduledSamplingCrossEntropyCriterion,
)
from fairseq_struct.errors import InputError
from fairseq_struct.modules.scheduled_sampling.input_replacement import (
    gold_confidence,
    replaceable_positions,
)

PAD, THRESHOLD = 1, 0.05
CERTAIN = {"confidence_threshold": THRESHOLD, "confidence_random_threshold": 1.0}


def criterion(weight=1.0):
    return ScheduledSamplingCrossEntropyCriterion(toy_task(), True, 0.1, first_pass_weight=weight)


def plain_loss(model, batch):
    return LabelSmoothedCrossEntropyCriterion(toy_task(), True, 0.1)(model, batch)[0]


def fed_by_confidence(replacement, batch):
    """Inputs of the second pass with the argmax mix, and inputs of the first pass."""
    given = batch["net_input"]
    gold = given["prev_output_tokens"]
    with torch.no_grad():
        scores, _ = plain_model().double()(**given)
    if replacement == "confidence":  # probability of the word that position i predicts
        sure = gold_confidence(scores.flatten(0, 1), batch["target"].flatten()).view(gold.shape)
    scores[..., PAD] = -torch.inf
    if replacement == "own_confidence":  # probability of the word that position i reads
        sure = torch.zeros(gold.shape, dtype=torch.float64)
        before = scores[:, :-1].flatten(0, 1)
        sure[:, 1:] = gold_confidence(before, gold[:, 1:].flatten()).view(gold[:, 1:].shape)
    sure = (sure > THRESHOLD) & replaceable_positions(gold, PAD)
    assert sure.any() and (~sure & replaceable_positions(gold, PAD)).any()
    fed = gold.clone()
    fed[:, 1:] = torch.where(sure[:, 1:], scores[:, :-1].argmax(-1), gold[:, 1:])
    return fed


@pytest.mark.parametrize("replacement", ["confidence", "own_confidence"])
def test_confidence_replaces_what_the_model_is_sure_of(replacement):
    model = toy_model(mix="argmax", replacement=replacement, **CERTAIN).double()
    batch = toy_batch()
    given = batch["net_input"]
    fed = fed_by_confidence(replacement, batch)
    with torch.no_grad():
        expected, _ = plain_model().double()(**{**given, "prev_output_tokens": fed})
        ours, _ = model(**given, with_first_pass=replacement == "confidence")
    words = given["prev_output_tokens"].ne(PAD)
    torch.testing.assert_close(ours[words], expected[words])


def test_the_two_confidences_choose_differently():
    fed = [fed_by_confidence(name, toy_batch()) for name in ("confidence", "own_confidence")]
    assert not torch.equal(*fed)


def test_both_passes_are_trained():
    """Losses and gradients equal those of two plain Transformers with shared parameters."""
    model = toy_model(mix="argmax", replacement="confidence", **CERTAIN).double()
    plain, batch = plain_model().double(), toy_batch()
    fed = {**batch["net_input"], "prev_output_tokens": fed_by_confidence("confidence", batch)}
    expected = plain_loss(plain, {**batch, "net_input": fed}) + 0.5 * plain_loss(plain, batch)
    loss, size, logged = criterion(0.5)(model, batch)
    torch.testing.assert_close(loss, expected)
    assert size == 3 and torch.equal(logged["loss"], loss.detach())
    expected.backward()
    loss.backward()
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("gradient", [False, True])
def test_with_coins_the_last_pass_is_the_same_with_the_first_one_s_loss(gradient):
    """With the loss of pass 1, mixes come from the whole pass; without it, from the part needed."""
    options = {"mix": "softmax", "first_pass_gradient": gradient, **constant(0.3)}
    results = []
    for with_first_pass in (False, True):
        model = toy_model(**options).double()
        scores, extra = model(**toy_batch()["net_input"], with_first_pass=with_first_pass)
        assert ("first_pass" in extra) == with_first_pass
        (scores[..., 4:] ** 2).sum().backward()
        results.append([scores.detach(), *(p.grad for p in model.parameters())])
    words = toy_batch()["net_input"]["prev_output_tokens"].ne(PAD)
    results = [[scores[words], *gradients] for scores, *gradients in results]
    for first, second in zip(*results, strict=True):
        torch.testing.assert_close(first, second)


def test_confidence_waits_for_its_warm_up_and_may_find_nothing():
    options = {"replacement": "own_confidence", "schedule_warmup_updates": 10}
    model = toy_model(**options, confidence_threshold=0.0, confidence_random_threshold=0.0)
    batch, expected = toy_batch(), plain_loss(plain_model(), toy_batch())
    assert torch.equal(plain_loss(model, batch), expected)
    model.set_num_updates(10)
    assert not torch.equal(plain_loss(model, batch), expected)
    never = toy_model(**options, confidence_threshold=1.0, confidence_random_threshold=1.0)
    never.set_num_updates(10)
    assert torch.equal(plain_loss(never, batch), expected)


def test_one_pass_has_one_loss():
    """There is one pass in the warm-up, and in validation."""
    options = {"replacement": "confidence", "schedule_warmup_updates": 10, **CERTAIN}
    model, batch = toy_model(**options), toy_batch()
    expected = plain_loss(plain_model(), batch)
    assert torch.equal(criterion()(model, batch)[0], expected)
    model.set_num_updates(10)
    assert criterion()(model, batch)[0] > 1.5 * expected
    assert torch.equal(criterion()(model.eval(), batch)[0], plain_loss(plain_model().eval(), batch))


def test_a_model_that_is_wrapped_for_several_processes_is_trained_alike():
    class Wrapper(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, **given):
            return self.module(**given)

    model, batch = toy_model(mix="argmax", replacement="confidence", **CERTAIN), toy_batch()
    alone, wrapped = (criterion()(m, batch)[0] for m in (model, ModuleProxyWrapper(Wrapper(model))))
    assert torch.equal(alone, wrapped)


def test_what_does_not_fit_is_refused():
    model = toy_model(replacement="confidence")
    with pytest.raises(InputError, match="give --criterion scheduled_sampling_cross_entropy"):
        plain_loss(model, toy_batch())
    with pytest.raises(InputError, match="is for scheduled_sampling_transformer"):
        criterion()(plain_model(), toy_batch())
    for weight in (-1.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="--first-pass-weight must be 0 or more"):
            criterion(weight)
