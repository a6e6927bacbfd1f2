"""Batches of sentences with gold heads."""

import torch

from fairseq_struct.data.datasets.parsed_sentences import ParsedSentences


def test_batches_hold_every_sentence_and_change_with_the_epoch():
    sentences = [torch.arange(n) + 4 for n in (3, 1, 3, 2, 3, 3)]
    data = ParsedSentences(sentences, sentences, 1, shuffle=True, seed=2)
    orders = []
    for epoch in (1, 2, 3):
        data.set_epoch(epoch)
        orders.append(data.ordered_indices().tolist())
        assert sorted(orders[-1]) == list(range(6))
        assert [len(sentences[place]) for place in orders[-1]] == [1, 2, 3, 3, 3, 3]
    assert len(set(map(tuple, orders))) > 1
    batch = data.collater([data[0], data[1]])
    assert batch["net_input"]["tokens"].tolist() == [[4, 5, 6], [4, 1, 1]]
    assert batch["target"].tolist() == [[4, 5, 6], [4, 0, 0]]
    assert batch["ntokens"] == 4 and data.longest == 3
