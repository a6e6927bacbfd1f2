"""Units, layers and composers against loops over scalars and over torch's own cells."""

import math

import pytest
import torch
from torch import nn

from fairseq_struct.modules.recurrent_mechanisms import (
    LstmComposer,
    RecurrentMechanisms,
    RimComposer,
    UnitStates,
    follow,
)
from fairseq_struct.modules.recurrent_mechanisms.units import UnitLSTM

D, H, KEYS = 6, 5, 4


def layer_of(units=4, top_k=2, size=D, hidden=H, **options) -> RecurrentMechanisms:
    torch.manual_seed(1)
    return RecurrentMechanisms(units, top_k, size, hidden, KEYS, **options).double()


def states_of(layer, count=3) -> UnitStates:
    shape = (2, count, layer.units, layer.hidden_size)
    return UnitStates(*torch.randn(shape, dtype=torch.float64))


def lstm_cell(lstm: UnitLSTM, unit: int) -> nn.LSTMCell:
    """torch's cell with the weights of a unit."""
    size = lstm.weight.size(1) - lstm.weight.size(2) // 4
    cell = nn.LSTMCell(size, lstm.weight.size(2) // 4).double()
    with torch.no_grad():
        weights = lstm.weight[unit].T
        cell.weight_ih.copy_(weights[:, :size])
        cell.weight_hh.copy_(weights[:, size:])
        cell.bias_ih.copy_(lstm.bias[unit, 0])
        cell.bias_hh.zero_()
    return cell


def scalar_step(layer, elements, states):
    """One step of one sentence, element by element and unit by unit, from the equations."""
    keys, values = elements @ layer.read.weight[:KEYS].T, elements @ layer.read.weight[KEYS:].T
    scores, null, hidden, cell = [], [], [], []
    for k in range(layer.units):
        query = states.hidden[k] @ layer.query.weight[k]
        own = [float((query @ key).detach()) / math.sqrt(KEYS) for key in keys]
        total = sum(map(math.exp, own)) + 1  # the null vector's score is 0
        scores.append(own)
        null.append(1 / total)
    order = sorted(range(layer.units), key=lambda k: null[k])[: layer.top_k]
    for k in range(layer.units):
        if k not in order:
            hidden.append(states.hidden[k])
            cell.append(states.cell[k])
            continue
        total = 1 / null[k]
        if layer.input_weights == "softmax":
            weights = [math.exp(score) / total for score in scores[k]]
        else:
            weights = [1 / (1 + math.exp(-score)) for score in scores[k]]
        read = sum(weight * value for weight, value in zip(weights, values, strict=True))
        own = lstm_cell(layer.lstm, k)(read[None], (states.hidden[k][None], states.cell[k][None]))
        hidden.append(own[0][0])
        cell.append(own[1][0])
    after = list(hidden)
    for k in order:
        query, told = (hidden[k] @ layer.talk.weight[k])[:KEYS], 0
        others = [hidden[j] @ layer.talk.weight[j] for j in range(layer.units)]
        heard = [
            math.exp(float((query @ one[KEYS : 2 * KEYS]).detach()) / math.sqrt(KEYS))
            for one in others
        ]
        for weight, one in zip(heard, others, strict=True):
            told = told + weight / sum(heard) * one[2 * KEYS :]
        after[k] = hidden[k] + told
    shares = [math.exp(1 - null[k]) if k in order else 0.0 for k in range(layer.units)]
    shares = [share / sum(shares) for share in shares]
    return after, cell, order, shares, null


@pytest.mark.parametrize("input_weights", ["sigmoid", "softmax"])
def test_step_is_that_of_the_equations(input_weights):
    layer = layer_of(input_weights=input_weights)
    elements, states = torch.randn(3, 4, D, dtype=torch.float64), states_of(layer)
    mask = torch.arange(4) < torch.tensor([4, 2, 1])[:, None]
    found = layer.step(layer.read(elements), mask, states)
    for row, count in enumerate((4, 2, 1)):
        own = UnitStates(states.hidden[row], states.cell[row])
        hidden, cell, order, shares, null = scalar_step(layer, elements[row, :count], own)
        assert torch.allclose(found.states.hidden[row], torch.stack(hidden), rtol=0, atol=1e-12)
        assert torch.allclose(found.states.cell[row], torch.stack(cell), rtol=0, atol=1e-12)
        assert found.active[row].nonzero()[:, 0].tolist() == sorted(order)
        assert found.log_shares[row].exp().tolist() == pytest.approx(shares, abs=1e-12)
        assert found.null[row].tolist() == pytest.approx(null, abs=1e-12)


def test_all_units_active_and_softmax_are_a_loop_over_lstm_cells():
    """Without communication, each unit is an LSTM over what it reads."""
    layer = layer_of(top_k=4, input_weights="softmax")
    with torch.no_grad():
        layer.talk.weight[..., 2 * KEYS :] = 0  # nothing is told
    inputs = torch.randn(2, 5, 3, D, dtype=torch.float64)
    found, last = layer(inputs)
    cells = [lstm_cell(layer.lstm, k) for k in range(4)]
    hidden = cell = torch.zeros(2, 4, H, dtype=torch.float64)
    for t in range(5):
        keys, values = layer.read(inputs[:, t]).split([KEYS, H], -1)
        both = []
        for k, own in enumerate(cells):
            scores = (keys @ (hidden[:, k] @ layer.query.weight[k])[..., None])[..., 0] / 2
            weights = torch.cat([scores, torch.zeros(2, 1)], 1).softmax(1)[:, :-1]
            read = (weights[..., None] * values).sum(1)
            both.append(own(read, (hidden[:, k], cell[:, k])))
        hidden, cell = (torch.stack(part, 1) for part in zip(*both, strict=True))
        assert torch.allclose(found[:, t], hidden, rtol=0, atol=1e-12)
    assert torch.allclose(last.cell, cell, rtol=0, atol=1e-12)


def test_units_that_are_not_active_stay_and_pass_gradients():
    layer = layer_of(top_k=1)
    elements = torch.randn(1, 4, D, dtype=torch.float64)
    before = UnitStates(*(state.requires_grad_() for state in states_of(layer, 1)))
    found = layer.step(layer.read(elements), torch.ones(1, 4, dtype=torch.bool), before)
    resting = ~found.active[0]
    assert resting.sum() == 3
    assert torch.equal(found.states.hidden[0, resting], before.hidden[0, resting])
    assert torch.equal(found.states.cell[0, resting], before.cell[0, resting])
    unit = int(resting.nonzero()[0])
    (gradient,) = torch.autograd.grad(found.states.hidden[0, unit].sum(), before.hidden)
    assert torch.equal(gradient[0, unit], torch.ones(H, dtype=torch.float64))
    # Others read it, too: what they are told depends on its state.
    found = layer.step(layer.read(elements), torch.ones(1, 4, dtype=torch.bool), before)
    (gradient,) = torch.autograd.grad(found.states.hidden[0, found.active[0]].sum(), before.hidden)
    assert gradient[0, unit].abs().sum() > 0


def test_the_first_of_units_with_equal_weights_are_active():
    layer = layer_of(top_k=2)
    found = layer.step(torch.randn(2, 3, KEYS + H).double(), torch.ones(2, 3, dtype=torch.bool),
                       layer.begin(2))  # fmt: skip
    assert found.active.tolist() == [[True, True, False, False]] * 2  # zero states: all equal
    assert found.null.tolist() == [[pytest.approx(1 / 4)] * 4] * 2
    assert found.log_shares.exp()[0].tolist() == pytest.approx([0.5, 0.5, 0, 0])


def test_units_that_attend_least_to_the_null_vector_are_active():
    layer = layer_of(units=3, top_k=1, hidden=2)
    with torch.no_grad():
        layer.query.weight.zero_()
        layer.query.weight[:, 0, 0] = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64)
    states = UnitStates(torch.ones(1, 3, 2).double(), torch.zeros(1, 3, 2).double())
    elements = torch.zeros(1, 1, KEYS + 2).double()
    elements[0, 0, 0] = 2.0  # scores 1, 3 and 2
    found = layer.step(elements, torch.ones(1, 1, dtype=torch.bool), states)
    assert found.active[0].tolist() == [False, True, False]
    expected = [1 / (1 + math.exp(score)) for score in (1.0, 3.0, 2.0)]
    assert found.null[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_gradients_of_a_step():
    layer = layer_of(units=3, top_k=2, size=3, hidden=3)

    def run(elements, hidden, cell):
        mask = torch.tensor([[True, True, False]])
        found = layer.step(layer.read(elements), mask, UnitStates(hidden, cell))
        return found.states.hidden, found.states.cell, found.null

    inputs = [torch.randn(1, 3, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradcheck(run, inputs)


# Two sentences, ((a b) (c d)) and (e f), as steps over words.
STARTS = torch.tensor([[3, 2, 2, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
ENDS = torch.tensor([[4, 3, 4, 2, 1, 2, 4], [2, 1, 2, 0, 0, 0, 0]])
CATEGORIES = torch.tensor([[0, 1, 2, 0, 1, 2, 3], [0, 1, 3, -1, -1, -1, -1]])
TOKENS, LENGTHS, COUNTS = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]]), torch.tensor([4, 2]), \
    torch.tensor([7, 3])  # fmt: skip
OPTIONS = [{}, {"layers": 2}, {"span_attention": "softmax"}, {"positions": "from_right"},
           {"input_weights": "softmax"}, {"layers": 2, "positions": "from_right"}]  # fmt: skip


def composer_of(**options) -> RimComposer:
    torch.manual_seed(2)
    return RimComposer(nn.Embedding(9, 8, 0), 3, 2, categories=4, **options)


def run(composer, rows=slice(None), width=4, steps=7, **options):
    return follow(
        composer, TOKENS[rows, :width], LENGTHS[rows], STARTS[rows, :steps], ENDS[rows, :steps],
        COUNTS[rows], CATEGORIES[rows, :steps], **options,
    )  # fmt: skip


@pytest.mark.parametrize("composer", [*OPTIONS, "lstm"], ids=str)
def test_a_batch_is_its_sentences(composer):
    network = LstmComposer(nn.Embedding(9, 8, 0), categories=4) if composer == "lstm" else \
        composer_of(**composer)  # fmt: skip
    network = network.double()
    both, alone = run(network), run(network, slice(1, 2), 2, 3)
    assert torch.allclose(both.losses[1:, :3], alone.losses, rtol=0, atol=1e-12)
    assert torch.allclose(both.scores[1:, :3], alone.scores, rtol=0, atol=1e-12)
    assert torch.allclose(both.symbols[1:], alone.symbols, rtol=0, atol=1e-12)
    with torch.no_grad():  # symbols are replaced in place then
        assert torch.equal(run(network).losses, both.losses)
    assert both.losses[1, 3:].eq(0).all() and both.category_losses()[1, 3:].eq(0).all()
    together = torch.autograd.grad(
        both.losses[1].sum() + both.category_losses()[1].sum(), list(network.parameters()),
        allow_unused=True,
    )  # fmt: skip
    single = torch.autograd.grad(
        alone.losses.sum() + alone.category_losses().sum(), list(network.parameters()),
        allow_unused=True,
    )  # fmt: skip
    for ours, theirs in zip(together, single, strict=True):
        assert ours.isfinite().all() and torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_vectors_as_padding_change_results_with_the_batch():
    network = composer_of(pad_value=-1.0)
    assert not torch.allclose(run(network).losses[1, :3], run(network, slice(1, 2), 2, 3).losses[0])


def test_first_steps_are_those_of_the_equations():
    """The combined attention, the new symbol and the loss, from the layer's own numbers."""
    network = composer_of()
    layer, words = network.layers[0], network.words(TOKENS[:1])
    first = layer.step(layer.read(words), torch.ones(1, 4, dtype=torch.bool), layer.begin(1))
    shares = first.log_shares.exp()[0]
    attention = (shares[:, None] * first.scores[0].sigmoid()).sum(0)
    symbol = (shares[:, None] * first.states.hidden[0]).sum(0)
    found = run(network)
    assert torch.allclose(found.attention[0, 0], attention, rtol=0, atol=1e-6)
    target = torch.tensor([0.0, 0, 0, 1])
    loss = nn.functional.binary_cross_entropy(attention, target)
    assert torch.allclose(found.losses[0, 0], loss, rtol=0, atol=1e-6)
    assert torch.allclose(found.scores[0, 0], network.categories(symbol), rtol=0, atol=1e-6)
    words = torch.cat([words[:, :3], symbol[None, None]], 1)
    second = layer.step(layer.read(words), torch.ones(1, 4, dtype=torch.bool), first.states)
    attention = (second.log_shares.exp()[0][:, None] * second.scores[0].sigmoid()).sum(0)
    assert torch.allclose(found.attention[0, 1], attention, rtol=0, atol=1e-6)
    assert found.spans[0].tolist() == [
        [False, False, False, True], [False, False, True, False], [False, False, True, True],
        [False, True, False, False], [True, False, False, False], [True, True, False, False],
        [True, False, True, False],
    ]  # fmt: skip


def test_softmax_attention_is_that_without_the_null_vector():
    network = composer_of(span_attention="softmax")
    layer, words = network.layers[0], network.words(TOKENS[:1])
    first = layer.step(layer.read(words), torch.ones(1, 4, dtype=torch.bool), layer.begin(1))
    expected = (first.log_shares + first.log_attention.movedim(-1, 0)).exp().sum(-1)[:, 0]
    assert torch.allclose(run(network).attention[0, 0], expected, rtol=0, atol=1e-6)
    assert expected.tolist() == pytest.approx([1 / 5] * 4)  # zero states


@pytest.mark.parametrize("options", [{"layers": 2}, {"span_attention": "softmax"}], ids=str)
def test_one_sentence_is_learnt_by_heart(options):
    torch.manual_seed(3)
    network = RimComposer(nn.Embedding(9, 16, 0), 3, 3, **options)
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(160):
        optimizer.zero_grad()
        found = run(network, slice(0, 1))
        found.losses.sum().backward()
        optimizer.step()
    attention = found.attention.masked_fill(~found.live, -1)[0]
    right = found.spans[0].gather(1, attention.argmax(1, keepdim=True))[:, 0]
    # In the first step all states are zero, and with them all scores.
    assert right[1:].all()


@pytest.mark.parametrize("shares", [1e-9, 0.5, 1.0])
def test_own_spans_end_in_one_symbol(shares):
    torch.manual_seed(4)
    network = composer_of()
    found = run(network, own_share=shares)
    plain = run(network)
    if shares < 1e-6:
        assert torch.equal(found.spans, plain.spans) and torch.equal(found.losses, plain.losses)
    assert (found.going.sum(1) >= LENGTHS + 1).all()
    assert (found.going.sum(1) <= 2 * LENGTHS - 1).all()
    assert found.spans.any(2).eq(found.going).all()  # every step has a gold span
    assert (found.categories >= 0).eq(found.going).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [({"top_k": 0}, "top_k must be 1 to 3"), ({"top_k": 4}, "top_k must be 1 to 3"),
     ({"units": 0}, "units and sizes"), ({"layers": 0}, "1 layer or more"),
     ({"span_attention": "hard"}, "span attention must"), ({"positions": "left"}, "positions must"),
     ({"input_weights": "relu"}, "input weights must be")],
)  # fmt: skip
def test_impossible_settings(change, told):
    with pytest.raises(ValueError, match=told):
        RimComposer(nn.Embedding(9, 8), **{"units": 3, "top_k": 2, **change})
