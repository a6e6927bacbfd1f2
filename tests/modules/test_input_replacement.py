"""Which positions are replaced, and where the replacements are placed."""

import pytest
import torch
from torch import nn

from fairseq_struct.modules.scheduled_sampling.input_replacement import (
    embeddings_replaced,
    flip_coins,
    following_words,
    gold_confidence,
    random_tokens_of_same_sentence,
    replaceable_positions,
)

PAD, EOS = 1, 2


def test_begin_symbol_and_padding_stay_gold_on_either_side():
    inputs = torch.tensor([[EOS, 5, 6, 7], [EOS, 5, PAD, PAD], [PAD, PAD, EOS, 8]])
    expected = torch.tensor([[0, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 1]]).bool()
    assert torch.equal(replaceable_positions(inputs, PAD), expected)


@pytest.mark.parametrize(("probability", "expected"), [(0.0, 1.0), (1.0, 0.0)])
def test_certain_coins(probability, expected):
    replaceable = torch.ones(50, 40, dtype=torch.bool)
    assert flip_coins(replaceable, probability).float().mean() == expected


def test_coins_are_independent_across_sentences_and_positions():
    replaceable = torch.ones(400, 300, dtype=torch.bool)
    coins = flip_coins(replaceable, 0.7, torch.Generator().manual_seed(0)).double()
    assert coins.mean().item() == pytest.approx(0.3, abs=0.01)
    for first, second in ((coins[0::2], coins[1::2]), (coins[:, 0::2], coins[:, 1::2])):
        together = torch.stack([first.flatten(), second.flatten()])
        assert abs(torch.corrcoef(together)[0, 1].item()) < 0.02
    # If all sentences shared their draws, the columns' means would be 0 or 1.
    assert coins.mean(0).std() < 0.05 and coins.mean(1).std() < 0.05


def test_coins_respect_what_may_be_replaced_and_their_generator():
    replaceable = torch.rand(30, 20, generator=torch.Generator().manual_seed(1)) < 0.5
    coins = [flip_coins(replaceable, 0.4, torch.Generator().manual_seed(9)) for _ in range(2)]
    assert torch.equal(*coins)
    assert not (coins[0] & ~replaceable).any()


def test_the_last_word_is_followed_by_the_end_symbol():
    inputs = torch.tensor([[EOS, 5, 6, 7], [EOS, 5, PAD, PAD], [PAD, PAD, EOS, 8]])
    following = following_words(inputs, PAD, EOS)
    words = inputs.ne(PAD)
    assert following[words].tolist() == [5, 6, 7, EOS, 5, EOS, 8, EOS]


def test_gold_confidence_is_the_softmax_probability():
    scores = torch.tensor([[1.0, 2.0, -torch.inf], [0.0, 100.0, 100.0]])
    gold = torch.tensor([1, 2])
    expected = scores.softmax(1)[torch.arange(2), gold]
    torch.testing.assert_close(gold_confidence(scores, gold), expected)
    torch.testing.assert_close(gold_confidence(scores.half(), gold), expected)


def test_random_tokens_come_from_the_same_sentence_and_never_are_its_begin():
    inputs = torch.tensor([[EOS, 10, 11, 12], [EOS, 20, 21, PAD]])
    rows = torch.tensor([0, 1]).repeat(200)
    tokens = random_tokens_of_same_sentence(
        inputs, replaceable_positions(inputs, PAD), rows, torch.Generator().manual_seed(0)
    )
    assert set(tokens[rows == 0].tolist()) == {10, 11, 12}
    assert set(tokens[rows == 1].tolist()) == {20, 21}


def test_replacements_arrive_and_the_table_is_itself_again():
    table = nn.Embedding(30, 3, padding_idx=PAD)
    inputs = torch.tensor([[EOS, 5, 6], [EOS, 7, PAD]])
    plain = table(inputs)
    rows, columns = torch.tensor([0, 1]), torch.tensor([2, 1])
    vectors = torch.full((2, 3), 9.0)
    with embeddings_replaced(table, rows, columns, vectors):
        mixed = table(inputs)
    expected = plain.clone()
    expected[0, 2] = expected[1, 1] = 9.0
    assert torch.equal(mixed, expected)
    assert torch.equal(table(inputs), plain)


def test_the_table_is_itself_again_after_an_error():
    table = nn.Embedding(5, 3)
    inputs = torch.tensor([[2, 3]])
    plain = table(inputs)
    where = torch.tensor([0])
    with (
        pytest.raises(RuntimeError, match="boom"),
        embeddings_replaced(table, where, where, torch.zeros(1, 3)),
    ):
        raise RuntimeError("boom")
    assert torch.equal(table(inputs), plain)
