"""Masked sentences: which words are hidden, how often, and how they are batched."""

import pytest
import torch

from fairseq_struct.data.datasets.masked_sentences import MaskedSentences

PADDING, UNKNOWN, MASK = 1, 3, 9


def dataset(sentences=None, **options):
    sentences = sentences or [torch.tensor([4, 5, 3, 6]), torch.tensor([7]), torch.tensor([8, 4])]
    options = {"rate": 0.5, **options}
    return MaskedSentences(sentences, PADDING, UNKNOWN, MASK, **options)


def test_a_batch_shows_all_words_but_the_hidden_ones():
    data = dataset(rate=0.6, seed=2)
    samples = [data[i] for i in range(3)]
    batch = data.collater(samples)
    given, rows, wanted = batch["net_input"], [], []
    for sample in samples:
        pairs = zip(sample["words"].tolist(), sample["hidden"].tolist(), strict=True)
        row = []
        for word, hidden in pairs:
            row.append(MASK if hidden else word)
            wanted += [word] * hidden
        rows.append(row + [PADDING] * (4 - len(row)))
    assert given["tokens"].tolist() == rows
    assert given["lengths"].tolist() == [4, 1, 2]
    assert batch["target"].tolist() == wanted and batch["ntokens"] == len(wanted) > 0
    assert torch.equal(given["hidden"], given["tokens"] == MASK)
    assert data.collater([]) == {}


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.9])
def test_words_are_hidden_independently_at_the_rate_and_unknown_ones_never(rate):
    words = torch.tensor([4, 5, UNKNOWN, 6, 7])
    data = dataset([words] * 4000, rate=rate)
    hidden = torch.stack([data[i]["hidden"] for i in range(len(data))]).double()
    assert hidden[:, 2].sum() == 0
    known = hidden[:, [0, 1, 3, 4]]
    # Four standard errors, of means and of correlations between places.
    assert (known.mean(0) - rate).abs().max() < 4 * (rate * (1 - rate) / 4000) ** 0.5
    correlation = torch.corrcoef(known.T) - torch.eye(4)
    assert correlation.abs().max() < 4 / 4000**0.5


def test_draws_depend_on_epoch_sentence_and_draw():
    words = torch.arange(10, 60)
    data = dataset([words, words], draws=2)

    def hidden():
        return [tuple(data[i]["hidden"].tolist()) for i in range(len(data))]

    first = hidden()
    assert len(set(first)) == 4 and hidden() == first
    data.set_epoch(2)
    assert not set(hidden()) & set(first)
    data.set_epoch(1)
    assert hidden() == first
    same = dataset([words, words], draws=2, shuffle=False)
    before = [same[i]["hidden"].tolist() for i in range(4)]
    same.set_epoch(7)
    assert [same[i]["hidden"].tolist() for i in range(4)] == before


def test_every_epoch_has_batches_of_its_own():
    data = dataset([torch.tensor([4, 5])] * 50)
    first = data.ordered_indices().tolist()
    assert data.ordered_indices().tolist() == first and not data.can_reuse_epoch_itr_across_epochs
    data.set_epoch(2)
    assert data.ordered_indices().tolist() != first


def test_sentences_come_by_length():
    data = dataset(draws=3)
    order = data.ordered_indices()
    assert sorted(order) == list(range(9))
    assert [data.size(i) for i in order] == [1] * 3 + [2] * 3 + [4] * 3
