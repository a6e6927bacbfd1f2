"""Words in context, against torch's LSTM of packed sentences."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_struct.modules.sentence_encoder import ContextLSTM

LENGTHS = torch.tensor([3, 7, 1, 5])


def packed(encoder, words, lengths):
    given = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(encoder.lstm(given)[0], batch_first=True, total_length=7)[0]


@pytest.mark.parametrize(
    ("precision", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 1e-6)]
)
@pytest.mark.parametrize("layers", [1, 3])
def test_values_and_gradients_are_those_of_packed_sentences(precision, tolerance, layers):
    torch.manual_seed(1)
    encoder = ContextLSTM(6, 10, layers, dropout=0.5).to(precision).eval()
    words = torch.randn(4, 7, 6, dtype=precision, requires_grad=True)
    weights = torch.randn(4, 7, 10, dtype=precision)
    leaves = [words, *encoder.parameters()]
    results = []
    for found in (encoder(words, LENGTHS), packed(encoder, words, LENGTHS)):
        results.append([found, *torch.autograd.grad((found * weights).sum(), leaves)])
    torch.testing.assert_close(*results, atol=tolerance, rtol=tolerance)


def test_neither_batch_nor_padding_changes_a_value():
    torch.manual_seed(2)
    encoder = ContextLSTM(6, 10, 2).double()
    words = torch.randn(4, 7, 6).double()
    together = encoder(words, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        alone = encoder(words[row : row + 1, :n], LENGTHS[row : row + 1])
        torch.testing.assert_close(together[row, :n], alone[0])
        assert not together[row, n:].any()
    broken = words.clone()
    broken[0, 3:] = torch.nan
    after = encoder(broken, LENGTHS)
    torch.testing.assert_close(after, together)
    gradients = [torch.autograd.grad(out.square().sum(), list(encoder.parameters()))
                 for out in (after, together)]  # fmt: skip
    torch.testing.assert_close(*gradients)


def test_dropout_is_between_layers_and_only_while_training():
    torch.manual_seed(3)
    words = torch.randn(4, 7, 6)
    for layers, differs in ((1, False), (2, True)):
        encoder = ContextLSTM(6, 10, layers, dropout=0.5)
        first, second = encoder(words, LENGTHS), encoder(words, LENGTHS)
        assert torch.equal(first, second) != differs
        encoder.eval()
        assert torch.equal(encoder(words, LENGTHS), encoder(words, LENGTHS))


def test_an_odd_size_is_refused():
    with pytest.raises(ValueError, match=r"must be even \(two directions\), not 5"):
        ContextLSTM(6, 5)
